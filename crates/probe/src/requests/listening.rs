//! On what a server listens.

use machine::processes::{Connections, Listener};

/// On what a server listens.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listening {
    /// TCP ports. One without addresses is at any, whoever listens there.
    pub ports: Vec<Listener>,
    /// Unix stream sockets by name: a path, or `@` and the rest of an abstract name.
    pub unix: Vec<String>,
}

impl Listening {
    /// All ports and Unix sockets on which a server was seen to listen.
    pub fn of(connections: &Connections) -> Self {
        Self { ports: connections.listeners.clone(), unix: connections.unix_listeners.clone() }
    }

    /// TCP ports at any address, whoever listens there.
    pub fn on_ports(ports: &[u16]) -> Self {
        Self { ports: ports.iter().copied().map(at_any_address).collect(), unix: Vec::new() }
    }

    /// Of these TCP ports what is known; those on which the server was not seen to listen are at any address. It may have its connections
    /// from another process.
    pub fn only_on(&self, ports: &[u16]) -> Self {
        let known = |port: &u16| self.ports.iter().find(|known| known.port == *port).cloned();
        let of = |port: &u16| known(port).unwrap_or_else(|| at_any_address(*port));
        Self { ports: ports.iter().map(of).collect(), unix: Vec::new() }
    }

    /// With this TCP port, which is at any address where the server was not seen to listen on it.
    #[must_use]
    pub fn and_on(mut self, port: u16) -> Self {
        if self.ports.iter().all(|known| known.port != port) {
            self.ports.push(at_any_address(port));
        }
        self
    }

    /// The TCP ports alone.
    #[must_use]
    pub fn without_unix(self) -> Self {
        Self { unix: Vec::new(), ..self }
    }

    /// Whether it listens on nothing.
    pub fn is_empty(&self) -> bool {
        self.ports.is_empty() && self.unix.is_empty()
    }
}

fn at_any_address(port: u16) -> Listener {
    Listener { port, ..Listener::default() }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    /// Listens at 127.0.0.1 on port 80, where another server listens at 127.0.0.2.
    fn seen() -> Connections {
        let [addresses, others] = [1, 2].map(|last| vec![IpAddr::from([127, 0, 0, last])]);
        let listener = Listener { port: 80, addresses, others, ..Listener::default() };
        Connections { listeners: vec![listener], unix_listeners: vec!["@a".into()], ..Connections::default() }
    }

    #[test]
    fn ports_have_the_addresses_at_which_the_server_and_others_listen() {
        let listening = Listening::of(&seen());
        let [port] = &listening.ports[..] else { panic!("one port: {listening:?}") };
        assert_eq!((port.port, &port.addresses[..]), (80, &[IpAddr::from([127, 0, 0, 1])][..]));
        assert_eq!((&port.others[..], listening.is_empty()), (&[IpAddr::from([127, 0, 0, 2])][..], false));
        let of_tcp = listening.clone().without_unix();
        assert_eq!((of_tcp.ports == listening.ports, of_tcp.unix.len()), (true, 0));
        assert!(Listening::of(&Connections::default()).is_empty());
    }

    #[test]
    fn a_port_that_is_only_named_is_at_any_address_and_a_known_one_keeps_its_own() {
        let listening = Listening::of(&seen());
        let any = Listener { port: 81, ..Listener::default() };
        let named = listening.only_on(&[81, 80]);
        assert_eq!((&named.ports[..], named.unix.len()), (&[any.clone(), listening.ports[0].clone()][..], 0));
        assert_eq!(listening.clone().and_on(80), listening);
        let with_another = listening.clone().and_on(81);
        assert_eq!((&with_another.ports[1], &with_another.unix), (&any, &listening.unix));
        assert_eq!(Listening::on_ports(&[81]).ports, [any]);
    }
}
