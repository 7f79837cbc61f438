//! Connections: accepts them, finds out whether they speak TLS, and gives their requests to the routes.
//!
//! One port serves both: the first byte of a TLS handshake is 22, which no request of HTTP begins with. What comes in plain from another machine
//! is only told to come back over TLS (`routes`).

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::limits::{CONNECTIONS_MAX, CONNECTIONS_OF_ADDRESS_MAX, HEADERS_BYTES_MAX, HEADERS_WAIT};
use super::{HttpFront, Origin, routes};
use crate::fronts::mysql::tls;

const TLS_HANDSHAKE: u8 = 22;

/// The thread of the front.
pub fn serve(front: &Arc<HttpFront>, listener: TcpListener) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let served = runtime.and_then(|runtime| runtime.block_on(accept(front, listener)));
    if let Err(error) = served {
        tracing::error!("metrics and console are gone: {error}");
    }
}

async fn accept(front: &Arc<HttpFront>, listener: TcpListener) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let addresses = Addresses::default();
    let router = routes::router(front.clone());
    loop {
        // Who finds no place waits in the listener's queue.
        let Ok(place) = places.clone().acquire_owned().await else { return Ok(()) };
        match listener.accept().await {
            Ok((stream, peer)) => {
                let Some(of_address) = addresses.enter(peer.ip().to_canonical()) else { continue };
                let (front, router) = (front.clone(), router.clone());
                tokio::spawn(async move {
                    begin(&front, router, stream, peer).await;
                    drop((place, of_address));
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection over HTTP");
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        }
    }
}

/// How many connections there are from each address.
#[derive(Clone, Default)]
struct Addresses(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// One of them.
struct OfAddress(Addresses, IpAddr);

impl Addresses {
    /// `None` if there are too many from there. A proxy on this machine has those of all its clients.
    fn enter(&self, address: IpAddr) -> Option<OfAddress> {
        let mut counts = self.0.lock();
        let count = counts.entry(address).or_default();
        if *count >= CONNECTIONS_OF_ADDRESS_MAX && !address.is_loopback() {
            return None;
        }
        *count += 1;
        Some(OfAddress(self.clone(), address))
    }
}

impl Drop for OfAddress {
    fn drop(&mut self) {
        let mut counts = self.0.0.lock();
        if let Some(count) = counts.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.1);
            }
        }
    }
}

async fn begin(front: &HttpFront, router: axum::Router, stream: TcpStream, peer: SocketAddr) {
    // IPv4 over a socket of IPv6.
    let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
    let _ = stream.set_nodelay(true);
    let mut first = [0];
    match timeout(HEADERS_WAIT, stream.peek(&mut first)).await {
        Ok(Ok(1)) if first == [TLS_HANDSHAKE] => {}
        Ok(Ok(1)) => return answer(router, stream, Origin { peer, tls: None }).await,
        _ => return,
    }
    // The keys are read while the server starts.
    let Some(config) = front.front.get().and_then(|front| front.tls_config()) else { return };
    if let Ok(Ok(stream)) = timeout(HEADERS_WAIT, TlsAcceptor::from(config).accept(stream)).await {
        let client = tls::peer(stream.get_ref().1);
        answer(router, stream, Origin { peer, tls: Some(client) }).await;
    }
}

/// Answers requests until the client goes or is silent.
async fn answer(router: axum::Router, stream: impl AsyncRead + AsyncWrite + Unpin, origin: Origin) {
    let service = TowerToHyperService::new(router.layer(axum::Extension(origin)));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADERS_WAIT).max_buf_size(HEADERS_BYTES_MAX);
    // What goes wrong with one connection is its client's matter.
    let _ = http.serve_connection(TokioIo::new(stream), service).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_does_not_take_all_places() {
        let addresses = Addresses::default();
        let [far, other, here] = ["192.0.2.1", "192.0.2.2", "127.0.0.1"].map(|text| text.parse().expect("an address"));
        let enter =
            |address| -> Vec<_> { (0..CONNECTIONS_OF_ADDRESS_MAX + 5).filter_map(|_| addresses.enter(address)).collect() };
        let (of_far, of_here) = (enter(far), enter(here));
        assert_eq!((of_far.len(), of_here.len()), (CONNECTIONS_OF_ADDRESS_MAX, CONNECTIONS_OF_ADDRESS_MAX + 5));
        assert!(addresses.enter(far).is_none() && addresses.enter(other).is_some());
        drop((of_far, of_here));
        assert!(addresses.enter(far).is_some() && addresses.0.lock().is_empty());
    }
}
