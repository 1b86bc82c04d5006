//! The kinds of servers, and how one that a target leads to is observed.

use fenxi_wire::target::Target;

use crate::{
    mysql::Mysql,
    observer::{Poller, Sampler},
    pooler,
    postgres::Postgres,
    product::Product,
    server::{Server, ServerError},
};

/// All of them. The first one is that of a dialect without a line.
const PRODUCTS: [&dyn Product; 2] = [&Postgres, &Mysql];

impl Server {
    /// The server that a target leads to.
    pub fn new(target: &Target) -> Server {
        let is_spoken = |product: &&&dyn Product| product.dialect() == target.login.dialect;
        Server::of(target, *PRODUCTS.iter().find(is_spoken).unwrap_or(&PRODUCTS[0]))
    }

    /// Connects what looks at its sessions.
    pub(crate) fn sampler(&self) -> Result<Box<dyn Sampler>, ServerError> {
        self.allow_sample();
        let server = self.for_samples();
        if pooler::console(&server)?.is_some() {
            return Ok(Box::new(pooler::NoSampler));
        }
        self.product().sampler(&server)
    }

    /// Connects what reads its counters.
    pub(crate) fn poller(&self) -> Result<Box<dyn Poller>, ServerError> {
        self.allow_poll();
        if let Some(client) = pooler::console(self)? {
            return Ok(pooler::poller(self, client));
        }
        self.product().poller(self)
    }
}
