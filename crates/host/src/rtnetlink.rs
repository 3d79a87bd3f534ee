//! The numbers of rtnetlink's messages and attributes, by the names and headers of include/uapi/linux.

/// rtnetlink.h: the types of messages.
pub(crate) mod message {
    pub(crate) const RTM_NEWLINK: u16 = 16;
    pub(crate) const RTM_GETLINK: u16 = 18;
    pub(crate) const RTM_NEWROUTE: u16 = 24;
    pub(crate) const RTM_GETROUTE: u16 = 26;
    pub(crate) const RTM_NEWQDISC: u16 = 36;
    pub(crate) const RTM_DELQDISC: u16 = 37;
    pub(crate) const RTM_GETQDISC: u16 = 38;
    pub(crate) const RTM_NEWTCLASS: u16 = 40;
    pub(crate) const RTM_GETTCLASS: u16 = 42;
    pub(crate) const RTM_NEWTFILTER: u16 = 44;
    pub(crate) const RTM_GETTFILTER: u16 = 46;
    pub(crate) const RTM_GETDCB: u16 = 78;
    pub(crate) const RTM_SETDCB: u16 = 79;
}

/// rtnetlink.h, if_link.h: devices.
pub(crate) mod link {
    /// The length of `struct ifinfomsg`.
    pub(crate) const HEADER: usize = 16;
    pub(crate) const IFLA_IFNAME: u16 = 3;
    pub(crate) const IFLA_MTU: u16 = 4;
    /// The device that this one is on.
    pub(crate) const IFLA_LINK: u16 = 5;
    pub(crate) const IFLA_LINKINFO: u16 = 18;
    /// In `IFLA_LINKINFO`.
    pub(crate) const IFLA_INFO_KIND: u16 = 1;
    /// Given if that device is in another namespace.
    pub(crate) const IFLA_LINK_NETNSID: u16 = 37;
    pub(crate) const IFLA_GSO_MAX_SEGS: u16 = 40;
    /// `IFF_LOOPBACK` of if.h.
    pub(crate) const LOOPBACK: u32 = 1 << 3;
    /// The loopback's number in every namespace (`LOOPBACK_IFINDEX` of include/net/flow.h).
    pub(crate) const LOOPBACK_INDEX: u32 = 1;

    /// `struct ifinfomsg` with the device's number.
    pub(crate) fn header(index: u32) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        bytes[4..8].copy_from_slice(&index.to_ne_bytes());
        bytes
    }
}

/// rtnetlink.h: routes.
pub(crate) mod route {
    /// The length of `struct rtmsg`.
    pub(crate) const HEADER: usize = 12;
    pub(crate) const RTA_DST: u16 = 1;
    pub(crate) const RTA_OIF: u16 = 4;
    pub(crate) const RTA_GATEWAY: u16 = 5;
    pub(crate) const RTA_METRICS: u16 = 8;
    pub(crate) const RTA_CACHEINFO: u16 = 12;
    /// The number of a route's next hop object.
    pub(crate) const RTA_NH_ID: u16 = 30;
    /// `rta_expires` of `struct rta_cacheinfo`.
    pub(crate) const EXPIRES: usize = 8;
    pub(crate) const RTAX_LOCK: u16 = 1;
    /// In segments.
    pub(crate) const RTAX_INITCWND: u16 = 11;
    /// In milliseconds. TCP reads it only if it is locked.
    pub(crate) const RTAX_RTO_MIN: u16 = 13;
    /// A name.
    pub(crate) const RTAX_CC_ALGO: u16 = 16;
    pub(crate) const RT_TABLE_MAIN: u8 = 254;
    pub(crate) const RTN_UNICAST: u8 = 1;
    /// Router advertisements renew such a route, without our metrics.
    pub(crate) const RTPROT_RA: u8 = 9;
    pub(crate) const RTM_F_CLONED: u32 = 0x200;
    pub(crate) const RTNH_F_ONLINK: u32 = 4;
}

/// rtnetlink.h, pkt_sched.h: queueing disciplines and classes.
pub(crate) mod queue {
    /// The length of `struct tcmsg`.
    pub(crate) const HEADER: usize = 20;
    /// `tcm_info` of it.
    pub(crate) const INFO: usize = 16;
    pub(crate) const TCA_KIND: u16 = 1;
    pub(crate) const TCA_OPTIONS: u16 = 2;
    pub(crate) const TCA_STATS2: u16 = 7;
    pub(crate) const TCA_STAB: u16 = 8;
    /// The parent of the first discipline.
    pub(crate) const TC_H_ROOT: u32 = 0xffff_ffff;
    /// The parent of the discipline for received packets.
    pub(crate) const TC_H_INGRESS: u32 = 0xffff_fff1;
    pub(crate) const TC_LINKLAYER_ETHERNET: u8 = 1;
    pub(crate) const TCA_HTB_PARMS: u16 = 1;
    pub(crate) const TCA_HTB_INIT: u16 = 2;
    pub(crate) const TCA_HTB_RATE64: u16 = 6;
    pub(crate) const TCA_HTB_CEIL64: u16 = 7;
    /// The version of its settings (`HTB_VER >> 16` of net/sched/sch_htb.c).
    pub(crate) const HTB_VERSION: u32 = 3;
    pub(crate) const TCA_HFSC_RSC: u16 = 1;
    pub(crate) const TCA_HFSC_FSC: u16 = 2;
    pub(crate) const TCA_HFSC_USC: u16 = 3;
    pub(crate) const TCA_DRR_QUANTUM: u16 = 1;
    pub(crate) const TCA_ETS_NBANDS: u16 = 1;
    pub(crate) const TCA_ETS_NSTRICT: u16 = 2;
    pub(crate) const TCA_ETS_QUANTA: u16 = 3;
    pub(crate) const TCA_ETS_QUANTA_BAND: u16 = 4;
    pub(crate) const TCA_ETS_PRIOMAP: u16 = 5;
    pub(crate) const TCA_ETS_PRIOMAP_BAND: u16 = 6;
    pub(crate) const TCA_RED_PARMS: u16 = 1;
    pub(crate) const TCA_RED_STAB: u16 = 2;
    pub(crate) const TCA_RED_MAX_P: u16 = 3;
    pub(crate) const TC_RED_ECN: u8 = 1;
    /// Whether packets above the upper threshold are dropped also if they could be marked.
    pub(crate) const TC_RED_HARDDROP: u8 = 2;
    pub(crate) const TCA_TBF_PARMS: u16 = 1;
    pub(crate) const TCA_TBF_RATE64: u16 = 4;
    pub(crate) const TCA_TBF_BURST: u16 = 6;
    pub(crate) const TCA_CODEL_TARGET: u16 = 1;
    pub(crate) const TCA_CODEL_LIMIT: u16 = 2;
    pub(crate) const TCA_CODEL_INTERVAL: u16 = 3;
    pub(crate) const TCA_CODEL_ECN: u16 = 4;
    pub(crate) const TCA_CODEL_CE_THRESHOLD: u16 = 5;
    pub(crate) const TCA_FQ_CODEL_TARGET: u16 = 1;
    pub(crate) const TCA_FQ_CODEL_LIMIT: u16 = 2;
    pub(crate) const TCA_FQ_CODEL_INTERVAL: u16 = 3;
    pub(crate) const TCA_FQ_CODEL_ECN: u16 = 4;
    pub(crate) const TCA_FQ_CODEL_FLOWS: u16 = 5;
    pub(crate) const TCA_FQ_CODEL_QUANTUM: u16 = 6;
    pub(crate) const TCA_FQ_CODEL_CE_THRESHOLD: u16 = 7;
    pub(crate) const TCA_FQ_CODEL_MEMORY_LIMIT: u16 = 9;
    pub(crate) const TCA_PIE_TARGET: u16 = 1;
    pub(crate) const TCA_PIE_LIMIT: u16 = 2;
    pub(crate) const TCA_PIE_TUPDATE: u16 = 3;
    pub(crate) const TCA_PIE_ALPHA: u16 = 4;
    pub(crate) const TCA_PIE_BETA: u16 = 5;
    pub(crate) const TCA_PIE_ECN: u16 = 6;

    /// pkt_cls.h: the classifier `flower`. The mask of an address has the next number.
    pub(crate) const TCA_FLOWER_CLASSID: u16 = 1;
    pub(crate) const TCA_FLOWER_KEY_ETH_TYPE: u16 = 8;
    pub(crate) const TCA_FLOWER_KEY_IP_PROTO: u16 = 9;
    pub(crate) const TCA_FLOWER_KEY_IPV4_SRC: u16 = 10;
    pub(crate) const TCA_FLOWER_KEY_IPV6_SRC: u16 = 14;
    pub(crate) const TCA_FLOWER_KEY_TCP_SRC: u16 = 18;
    pub(crate) const TCA_FLOWER_KEY_TCP_DST: u16 = 19;
    pub(crate) const TCA_FLOWER_KEY_UDP_SRC: u16 = 20;
    pub(crate) const TCA_FLOWER_KEY_UDP_DST: u16 = 21;
    pub(crate) const TCA_FLOWER_FLAGS: u16 = 22;
    pub(crate) const TCA_FLOWER_KEY_SCTP_SRC: u16 = 41;
    pub(crate) const TCA_FLOWER_KEY_SCTP_DST: u16 = 42;
    pub(crate) const TCA_FLOWER_KEY_IP_TOS: u16 = 73;
    pub(crate) const TCA_FLOWER_KEY_IP_TOS_MASK: u16 = 74;
    pub(crate) const TCA_FLOWER_KEY_PORT_SRC_MIN: u16 = 87;
    pub(crate) const TCA_FLOWER_KEY_PORT_SRC_MAX: u16 = 88;
    pub(crate) const TCA_FLOWER_KEY_PORT_DST_MIN: u16 = 89;
    pub(crate) const TCA_FLOWER_KEY_PORT_DST_MAX: u16 = 90;
    /// Not in a card.
    pub(crate) const TCA_CLS_FLAGS_SKIP_HW: u32 = 1;

    /// `struct tcmsg`.
    pub(crate) fn header(index: u32, handle: u32, parent: u32) -> Vec<u8> {
        let mut bytes = vec![0; 4];
        [index, handle, parent, 0].iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        bytes
    }
}

/// gen_stats.h: counters, in `TCA_STATS2`.
pub(crate) mod statistics {
    pub(crate) const TCA_STATS_BASIC: u16 = 1;
    pub(crate) const TCA_STATS_QUEUE: u16 = 3;
    /// What a discipline counts beyond that.
    pub(crate) const TCA_STATS_APP: u16 = 4;
    /// The packets, where 32 bits do not hold them.
    pub(crate) const TCA_STATS_PKT64: u16 = 8;
}
