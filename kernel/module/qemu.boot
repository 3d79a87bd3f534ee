#!/bin/bash
# The last part of the guest that kernel/module/qemu boots, after qemu.guest: systemd has booted with the policy enabled, at a card
# that is down. The argument is the number of broken checks so far.
export PATH=/bin TERM=dumb HOME=/tmp
. /qemu.checks
broken=$1
cd /tmp || exit
unit=suimon-host.service
algorithm=/proc/sys/net/ipv4/tcp_congestion_control
result() { systemctl show --property="$1" --value $unit; }

# Until `$@` succeeds, 40 s at most.
until_done() {
    local _
    for _ in $(seq 40); do
        "$@" && return
        sleep 1
    done
    systemctl status --no-pager $unit
    return 1
}
restarted() { [ "$(result NRestarts)" -ge 1 ]; }
waits() { until_done restarted && is "$(cat $algorithm)" cubic; }
check "systemd starts the policy, which tries again while the card is down" waits
active() { [ "$(result ActiveState)" = active ]; }
comes_up() {
    ip link set e1000e up
    until_done active && is "$(cat $algorithm)" sui_highspeed && codes 0 suimon host status &&
        tc qdisc show dev e1000e | grep -q "^qdisc suimon .*psp rate 500000000"
}
check "the policy is applied once the card is up" comes_up
stopped() { systemctl stop $unit && is "$(cat $algorithm)" cubic && codes 0 suimon host status; }
check "stopping the unit restores what was before" stopped
enabled() { systemctl is-enabled $unit; }
disabled() {
    is "$(enabled)" enabled && codes 0 suimon host disable && [ ! -e /etc/systemd/system/$unit ] && ! enabled &&
        codes 0 suimon host enable /etc/server.toml server --device e1000e && is "$(enabled)" enabled
}
check "the unit is disabled and enabled" disabled
[ $broken -eq 0 ] && echo fine || echo broken
sync
poweroff -f
