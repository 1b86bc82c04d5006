//! Permissions of each kind of token, and the store as who asks may see it.
//!
//! Every route names the right that it needs ([`Right`]); one that names none is not reached by anybody but an admin. A request's
//! handler has the store by way of `Visit` alone, which knows only the runs of the asker's projects.

use std::{fmt, str::FromStr, sync::Arc};

use fenxi_store::{Store, StoreError};

use crate::access::Token;

/// The tag whose value is the project of a run.
pub const PROJECT: &str = "project";

/// Permissions of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// See runs.
    Reader,
    /// Add runs too, and change what people say about them.
    Writer,
    /// All, such as removing runs.
    Admin,
}

impl Role {
    /// All of them.
    pub const ALL: [Role; 3] = [Role::Reader, Role::Writer, Role::Admin];
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Role::Reader => "reader",
            Role::Writer => "writer",
            Role::Admin => "admin",
        })
    }
}

impl FromStr for Role {
    type Err = ();

    fn from_str(text: &str) -> Result<Role, ()> {
        Role::ALL.into_iter().find(|role| role.to_string() == text).ok_or(())
    }
}

/// Right that a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Right {
    /// Nothing: it is answered before anybody has logged in.
    None,
    /// To see runs, those of the asker.
    See,
    /// To see all that there is, also what is of no run.
    SeeAll,
    /// To add runs, and to change labels and marks of one's own.
    Write,
    /// To change what the pages of all runs show.
    WriteAll,
    /// To remove what cannot be had again.
    Admin,
}

impl Right {
    /// Its name in the description of the API.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Right::None => "none",
            Right::See => "reader",
            Right::SeeAll => "reader of all projects",
            Right::Write => "writer",
            Right::WriteAll => "writer of all projects",
            Right::Admin => "admin",
        }
    }

    /// Whether it changes the store.
    pub(crate) fn changes(self) -> bool {
        matches!(self, Right::Write | Right::WriteAll | Right::Admin)
    }

    fn role(self) -> Role {
        match self {
            Right::None | Right::See | Right::SeeAll => Role::Reader,
            Right::Write | Right::WriteAll => Role::Writer,
            Right::Admin => Role::Admin,
        }
    }
}

/// Why somebody may not.
#[derive(Debug)]
pub(crate) struct Denied(pub(crate) String);

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) enum Asker {
    /// A client of a server that is open to all who reach it; its name is that of its certificate.
    Anyone(Option<Arc<str>>),
    /// A client with a token.
    Token(Arc<Token>),
}

impl Asker {
    /// A name for the log and for labels.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Asker::Anyone(name) => name.as_deref(),
            Asker::Token(token) => Some(&token.name),
        }
    }

    /// Whether it may do what needs `right`.
    pub(crate) fn may(&self, right: Right) -> Result<(), Denied> {
        let Asker::Token(token) = self else { return Ok(()) };
        let of_all = matches!(right, Right::SeeAll | Right::WriteAll);
        if token.role >= right.role() && !(of_all && token.projects.is_some()) {
            return Ok(());
        }
        let of = if token.projects.is_some() { " of some projects" } else { "" };
        Err(Denied(format!("this needs a token of a {}; yours is of a {}{of}", right.name(), token.role)))
    }

    /// `store` as it sees it, with its name on what it changes.
    pub(crate) fn view(&self, store: &Store) -> Result<Store, StoreError> {
        let store = match self.name() {
            Some(name) => store.clone().acting_as(name),
            None => store.clone(),
        };
        match self {
            Asker::Token(token) => token.projects.as_ref().map_or(Ok(store.clone()), |own| store.only(PROJECT, own)),
            Asker::Anyone(_) => Ok(store),
        }
    }
}
