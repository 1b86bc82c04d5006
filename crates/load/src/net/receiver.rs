//! The end that answers: threads that take requests of a given size and send replies of another, each at its port, so that connections are
//! spread evenly.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use rustix::{
    event::epoll::{self, EventData, EventFlags},
    net::{RecvFlags, recv},
};

use super::{
    CHUNK, Exchange, KEY, LONGEST, LONGEST_UDP, MOST_CONNECTIONS, MOST_THREADS, Message, Order, SHORTEST_UDP, hear,
    say,
    usage::{Seat, Snapshot},
};

/// How soon a thread notices that it is over.
const GLANCE: Duration = Duration::from_millis(50);
/// The event of a listening socket.
const LISTENER: u64 = u64::MAX;

/// Threads that answer, until it is dropped.
#[derive(Debug)]
pub(super) struct Receiver {
    pub ports: Vec<u16>,
    seats: Arc<[Seat]>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    order: Order,
}

impl Receiver {
    /// Begins to listen.
    ///
    /// # Errors
    /// When the address is none of this host, a port is taken, or the order is out of bounds.
    pub fn start(order: &Order) -> io::Result<Receiver> {
        let longest = if order.udp { LONGEST_UDP } else { LONGEST };
        let sizes = 1..=longest;
        if !sizes.contains(&order.request)
            || !sizes.contains(&order.reply)
            || !(1..=MOST_THREADS).contains(&order.threads)
        {
            return Err(io::Error::other("sizes or threads are out of bounds"));
        }
        let (seats, over) = (Seat::some(order.threads), Arc::new(AtomicBool::new(false)));
        let mut receiver = Receiver { ports: Vec::new(), seats, over, threads: Vec::new(), order: order.clone() };
        for thread in 0..order.threads {
            let port = if order.port == 0 { Some(0) } else { order.port.checked_add(thread as u16) };
            let port = port.ok_or_else(|| io::Error::other("there are no ports above 65535"))?;
            let at = SocketAddr::new(order.address, port);
            let refused = |error: io::Error| io::Error::other(format!("cannot listen at {at}: {error}"));
            let (seats, over, order) = (Arc::clone(&receiver.seats), Arc::clone(&receiver.over), order.clone());
            let work: Box<dyn FnOnce() -> io::Result<()> + Send> = if order.udp {
                let socket = UdpSocket::bind(at).map_err(refused)?;
                receiver.ports.push(socket.local_addr()?.port());
                Box::new(move || datagrams(&socket, &order, &seats[thread], &over))
            } else {
                let listener = TcpListener::bind(at).map_err(refused)?;
                receiver.ports.push(listener.local_addr()?.port());
                Box::new(move || Answering::new(listener, &order, &seats[thread])?.run(&over))
            };
            // A thread that cannot run answers nothing, which the sender notices.
            receiver.threads.push(std::thread::Builder::new().spawn(move || drop(work()))?);
        }
        Ok(receiver)
    }

    /// Resource use of threads and host so far.
    pub fn look(&self) -> Snapshot {
        Snapshot::take(&self.seats, self.order.address, self.order.peer)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Serves one sender over a pipe, until that is closed.
///
/// # Errors
/// When the pipe breaks otherwise, or what comes is no order.
pub fn serve_pipe(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let Message::Order(order) = hear(&mut from)? else { return Err(io::Error::other("not an order")) };
    let receiver = match Receiver::start(&order) {
        Ok(receiver) => receiver,
        Err(error) => return say(&mut to, &Message::Refused(error.to_string())),
    };
    say(&mut to, &Message::Ports(receiver.ports.clone()))?;
    loop {
        match hear(&mut from) {
            Ok(Message::Look) => say(&mut to, &Message::Seen(Box::new(receiver.look())))?,
            Ok(_) => return Err(io::Error::other("not a question")),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// Holds a thread up as the work of a server would.
fn serve(order: &Order) {
    if order.service_us > 0 {
        std::thread::sleep(Duration::from_micros(order.service_us));
    }
}

/// A connection, which may ask once it has shown the key.
struct Client {
    exchange: Exchange,
    key: [u8; KEY],
    shown: usize,
    waits_for_room: bool,
}

/// A thread with connections.
struct Answering<'a> {
    epoll: std::os::fd::OwnedFd,
    listener: TcpListener,
    clients: Vec<Option<Client>>,
    free: Vec<usize>,
    buffer: Vec<u8>,
    order: &'a Order,
    seat: &'a Seat,
}

impl<'a> Answering<'a> {
    fn new(listener: TcpListener, order: &'a Order, seat: &'a Seat) -> io::Result<Answering<'a>> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        listener.set_nonblocking(true)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        Ok(Answering { epoll, listener, clients: Vec::new(), free: Vec::new(), buffer: vec![0; CHUNK], order, seat })
    }

    fn run(mut self, over: &AtomicBool) -> io::Result<()> {
        self.seat.take();
        let mut events = Vec::with_capacity(64);
        while !over.load(Ordering::Relaxed) {
            self.seat.wait(&self.epoll, &mut events, GLANCE);
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept(),
                    id => self.answer(id as usize),
                }
            }
        }
        Ok(())
    }

    fn accept(&mut self) {
        while let Ok((socket, _)) = self.listener.accept() {
            if self.clients.len() - self.free.len() >= MOST_CONNECTIONS {
                continue;
            }
            let Ok(exchange) = Exchange::new(socket) else { continue };
            let id = self.free.pop().unwrap_or_else(|| {
                self.clients.push(None);
                self.clients.len() - 1
            });
            if epoll::add(&self.epoll, &exchange.socket, EventData::new_u64(id as u64), EventFlags::IN).is_err() {
                self.free.push(id);
                continue;
            }
            self.clients[id] = Some(Client { exchange, key: [0; KEY], shown: 0, waits_for_room: false });
        }
    }

    /// Goes on with a connection; one that is over is closed.
    fn answer(&mut self, id: usize) {
        let Some(client) = self.clients.get_mut(id).and_then(Option::as_mut) else { return };
        let was_waiting = client.waits_for_room;
        let alive = go_on(client, self.order, &mut self.buffer).is_ok();
        if alive && client.waits_for_room != was_waiting {
            let what = if client.waits_for_room { EventFlags::OUT } else { EventFlags::IN };
            // The socket is known to the kernel, so there is nothing that it could refuse.
            let _ = epoll::modify(&self.epoll, &client.exchange.socket, EventData::new_u64(id as u64), what);
        }
        if !alive {
            self.clients[id] = None;
            self.free.push(id);
        }
    }
}

fn go_on(client: &mut Client, order: &Order, buffer: &mut [u8]) -> io::Result<()> {
    while client.shown < KEY {
        match recv(&client.exchange.socket, &mut client.key[client.shown..], RecvFlags::empty()) {
            Ok((0, _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok((n, _)) => client.shown += n,
            Err(rustix::io::Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        if client.shown == KEY {
            if client.key != order.key {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            client.exchange.to_receive = order.request;
        }
    }
    loop {
        client.waits_for_room = !client.exchange.push(buffer)?;
        if client.waits_for_room || !client.exchange.pull(buffer)? {
            return Ok(());
        }
        serve(order);
        (client.exchange.to_send, client.exchange.to_receive) = (order.reply, order.request);
    }
}

/// A thread that answers datagrams.
fn datagrams(socket: &UdpSocket, order: &Order, seat: &Seat, over: &AtomicBool) -> io::Result<()> {
    seat.take();
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    socket.set_nonblocking(true)?;
    epoll::add(&epoll, socket, EventData::new_u64(0), EventFlags::IN)?;
    let (mut events, mut buffer) = (Vec::with_capacity(1), vec![0; CHUNK]);
    let mut reply = vec![0; order.reply.max(8)];
    while !over.load(Ordering::Relaxed) {
        seat.wait(&epoll, &mut events, GLANCE);
        while let Ok((n, from)) = socket.recv_from(&mut buffer) {
            if n < SHORTEST_UDP || buffer[..KEY] != order.key {
                continue;
            }
            serve(order);
            reply[..8].copy_from_slice(&buffer[KEY..SHORTEST_UDP]);
            // A reply that the kernel does not take is lost, as on the way.
            let _ = socket.send_to(&reply, from);
            if over.load(Ordering::Relaxed) {
                break;
            }
        }
    }
    Ok(())
}
