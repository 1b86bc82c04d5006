//! `dispatch_command` of MariaDB and MySQL, which executes a request: its mangled name has the order of its arguments.
//!
//! | server | arguments |
//! |---|---|
//! | MariaDB, MySQL up to 5.6 | `(enum_server_command, THD *, char *packet, unsigned length …)` |
//! | MySQL from 5.7 on | `(THD *, const COM_DATA *, enum_server_command)` |

/// The order of the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The command, the session, the packet.
    CommandFirst,
    /// The session, the packet taken apart, the command.
    SessionFirst,
}

/// The function's name without its arguments, mangled.
const NAME: &str = "_Z16dispatch_command";
const COMMAND: &str = "19enum_server_command";

/// Whether a symbol is the function, whatever its arguments. What compilers cut off it (`.cold`) is not.
pub(super) fn is_dispatch(symbol: &str) -> bool {
    symbol.starts_with(NAME) && !symbol.contains(".cold")
}

impl Order {
    /// By the function's mangled name.
    ///
    /// # Errors
    /// When it is none of the known ones: arguments that are not known are not guessed.
    pub fn from_symbol(symbol: &str) -> Result<Order, String> {
        let arguments = symbol.strip_prefix(NAME).unwrap_or_default();
        // A compiler that makes a separate function of it (`.constprop.0`) may leave arguments out.
        let whole = !arguments.contains('.');
        match arguments.strip_prefix(COMMAND) {
            Some(rest) if whole && rest.starts_with("P3THDPcj") => Ok(Order::CommandFirst),
            None if whole && arguments == format!("P3THDPK8COM_DATA{COMMAND}") => Ok(Order::SessionFirst),
            _ => Err(format!(
                "it has `{symbol}`, with arguments that are not known: MariaDB, MySQL and Percona Server as their makers \
                 build them can be observed"
            )),
        }
    }

    /// Which program of ours reads them.
    pub fn program(self) -> &'static str {
        match self {
            Order::CommandFirst => "mariadb_request",
            Order::SessionFirst => "mysql_request",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_the_order_of_arguments() {
        for symbol in [
            // MySQL 5.5 and 5.6, MariaDB up to 10.1; MariaDB 10.2 to 10.4; since.
            "_Z16dispatch_command19enum_server_commandP3THDPcj",
            "_Z16dispatch_command19enum_server_commandP3THDPcjbb",
            "_Z16dispatch_command19enum_server_commandP3THDPcjb",
        ] {
            assert_eq!(Order::from_symbol(symbol), Ok(Order::CommandFirst), "{symbol}");
        }
        let of_mysql_8 = "_Z16dispatch_commandP3THDPK8COM_DATA19enum_server_command";
        assert_eq!(Order::from_symbol(of_mysql_8), Ok(Order::SessionFirst));
        assert_eq!(Order::SessionFirst.program(), "mysql_request");
    }

    #[test]
    fn arguments_that_are_not_known_are_not_guessed() {
        for symbol in [
            "_Z16dispatch_commandP3THD19enum_server_commandPcj",
            "_Z16dispatch_commandP3THDPK8COM_DATA19enum_server_commandb",
            "_Z16dispatch_command19enum_server_commandP3THDP6String",
            "_Z16dispatch_command19enum_server_commandP3THDPcjb.constprop.0",
            "_Z16dispatch_commandP3THDPK8COM_DATA19enum_server_command.isra.0",
            "_Z16dispatch_commandv",
        ] {
            assert!(Order::from_symbol(symbol).is_err_and(|why| why.contains(symbol)), "{symbol}");
        }
    }

    #[test]
    fn what_was_cut_off_the_function_is_not_it() {
        assert!(is_dispatch("_Z16dispatch_command19enum_server_commandP3THDPcjb"));
        assert!(!is_dispatch("_Z16dispatch_command19enum_server_commandP3THDPcjb.cold"));
    }
}
