//! Connections' segments on their way into the queue of an interface (TCP small queues).

use super::Host;
use crate::behaviour::Behaviour;
use crate::context::{Context, Egress};
use crate::observer::Observer;
use crate::port::Offered;

impl Host {
    /// Sends what a connection may send, then does the same for connections with queued packets that it displaced.
    #[inline]
    pub(super) fn send_pending<E: Egress, O: Observer>(
        &mut self,
        index: u32,
        cx: &mut Context<'_, E, O>,
    ) {
        self.send_segments(index, cx);
        self.send_released(cx);
    }

    /// Sends what a connection may send: at once, or when the processor has made it.
    #[inline]
    pub(super) fn send_segments<E: Egress, O: Observer>(
        &mut self,
        index: u32,
        cx: &mut Context<'_, E, O>,
    ) {
        if self.charges_sending { self.list(index, cx) } else { self.fill_queue(index, cx) }
    }

    /// Sends for the connections that have space in an interface's queue again.
    #[inline]
    pub(super) fn send_released<E: Egress, O: Observer>(&mut self, cx: &mut Context<'_, E, O>) {
        while let Some(index) = self.released.pop() {
            self.send_segments(index, cx);
        }
    }

    /// Moves a connection's segments into the interface's queue, or onto the wire if that is idle.
    #[inline]
    pub(super) fn fill_queue<E: Egress, O: Observer>(
        &mut self,
        index: u32,
        cx: &mut Context<'_, E, O>,
    ) {
        let port = self.endpoints[index as usize].port;
        if self.ports[port as usize].has_departures() {
            self.settle_before(port, cx);
        }
        let limit = self.endpoints[index as usize].connection.small_queue_limit();
        let mut ready = false;
        loop {
            let endpoint = &mut self.endpoints[index as usize];
            endpoint.throttled = endpoint.queued >= limit;
            if endpoint.throttled {
                endpoint.connection.held_back(cx.now);
                break;
            }
            if !endpoint.connection.may_transmit(cx.now) {
                break;
            }
            let packet = cx.packets.alloc();
            if !endpoint.connection.poll_transmit(cx.now, &mut cx.packets[packet]) {
                cx.packets.release(packet);
                break;
            }
            let (out, credits) = self.custody(port);
            let mut credits = credits.offering(index, packet, &cx.packets[packet]);
            let offered = out.offer(packet, &mut credits, cx);
            if credits.congested {
                self.endpoints[index as usize].connection.displaced(cx.now);
            }
            match offered {
                Offered::Sent | Offered::Queued => {}
                Offered::Ready => ready = true,
                Offered::Refused => {
                    let connection = &mut self.endpoints[index as usize].connection;
                    connection.refused(&cx.packets[packet], cx.now);
                    cx.packets.release(packet);
                    break;
                }
            }
        }
        let endpoint = &self.endpoints[index as usize];
        let (at, throttled) = (endpoint.connection.next_wakeup(), endpoint.throttled);
        // Mostly the timer was set before an ACK that has arrived since, and restarts when it fires.
        if at < endpoint.wakeup {
            self.arm(index, at, cx);
        }
        if throttled {
            self.await_departure(port, cx);
        }
        if ready {
            let id = self.ports[port as usize].id();
            let next = self.transmit(port, cx);
            cx.egress.resume(id, next);
        }
    }

    /// Counts the packets that have left a port which looks ahead.
    #[inline(never)]
    fn settle_before<E, O: Observer>(&mut self, port: u32, cx: &mut Context<'_, E, O>) {
        let (out, mut credits) = self.custody(port);
        out.settle_before(cx.now, &mut credits, cx.observer);
    }

    /// Continues at the next departure from a port which looks ahead, for a connection that waits for one.
    fn await_departure<E: Egress, O>(&mut self, port: u32, cx: &mut Context<'_, E, O>) {
        let out = &mut self.ports[port as usize];
        if out.is_ahead() {
            let next = out.await_departure();
            cx.egress.resume(out.id(), next);
        }
    }
}
