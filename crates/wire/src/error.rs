//! What can be wrong with bytes from a peer, as the MySQL error that answers it.
//!
//! A `ProtocolError` carries no text of the peer's and allocates nothing, so that building one
//! for a flood of garbage costs nothing. `closes_connection` says the caller's next move: answer with the
//! error and go on, or answer and close, because the stream's framing is lost.

use std::fmt;

/// A malformed, oversized or unsupported message from the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// A packet arrived with another sequence number than the next one.
    PacketsOutOfOrder,
    /// A packet reaches `max_allowed_packet`, or the bound that holds before authentication.
    PacketTooLarge,
    /// The compressed frame could not be inflated or has the wrong length.
    Uncompress,
    /// A command's payload ends early or contains a length that leaves it.
    MalformedPacket,
    /// The arguments of COM_STMT_EXECUTE do not match the statement.
    WrongArguments(&'static str),
    /// COM_STMT_SEND_LONG_DATA has made a parameter longer than `max_allowed_packet`.
    LongDataTooLarge,
    /// A temporal or floating-point parameter has a value that its type, named here, does not hold.
    ParameterOutOfRange(&'static str),
    /// The first packet of the client is no handshake response.
    Handshake,
    /// The client speaks the protocol of MySQL 3.23/4.0.
    OldClient,
    /// The command byte is not known.
    UnknownCommand,
}

impl ProtocolError {
    pub fn errno(self) -> u16 {
        match self {
            Self::PacketsOutOfOrder => 1156,
            Self::PacketTooLarge => 1153,
            Self::Uncompress => 1157,
            Self::MalformedPacket => 1835,
            Self::WrongArguments(_) => 1210,
            Self::LongDataTooLarge => 1105,
            Self::ParameterOutOfRange(_) => 1690,
            Self::Handshake => 1043,
            Self::OldClient => 1251,
            Self::UnknownCommand => 1047,
        }
    }

    pub fn sqlstate(self) -> &'static str {
        match self {
            Self::MalformedPacket | Self::WrongArguments(_) | Self::LongDataTooLarge => "HY000",
            Self::ParameterOutOfRange(_) => "22003",
            Self::OldClient => "08004",
            _ => "08S01",
        }
    }

    /// The stream cannot be read any further: answer with the error, then close.
    pub fn closes_connection(self) -> bool {
        !matches!(
            self,
            Self::MalformedPacket
                | Self::WrongArguments(_)
                | Self::LongDataTooLarge
                | Self::ParameterOutOfRange(_)
                | Self::UnknownCommand
        )
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PacketsOutOfOrder => f.write_str("Got packets out of order"),
            Self::PacketTooLarge => f.write_str("Got a packet bigger than 'max_allowed_packet' bytes"),
            Self::Uncompress => f.write_str("Couldn't uncompress communication packet"),
            Self::MalformedPacket => f.write_str("Malformed communication packet."),
            Self::WrongArguments(whose) => write!(f, "Incorrect arguments to {whose}"),
            Self::LongDataTooLarge => f.write_str(
                "Parameter of prepared statement which is set through mysql_send_long_data() \
                 is longer than 'max_allowed_packet' bytes",
            ),
            Self::ParameterOutOfRange(name) => {
                write!(f, "{name} value is out of range in 'set_parameter_value'")
            }
            Self::Handshake => f.write_str("Bad handshake"),
            Self::OldClient => f.write_str(
                "Client does not support authentication protocol requested by server; \
                 consider upgrading MySQL client",
            ),
            Self::UnknownCommand => f.write_str("Unknown command"),
        }
    }
}

impl std::error::Error for ProtocolError {}

/// For servers that handle it like the errors of a statement.
impl From<ProtocolError> for vaquita_types::Error {
    fn from(error: ProtocolError) -> Self {
        match vaquita_types::errno::by_code(error.errno()) {
            Some(def) => vaquita_types::Error::with_message(def, error.to_string()),
            None => vaquita_types::Error::internal(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers, states and texts agree with MySQL's own table.
    #[test]
    fn errors_are_mysqls() {
        for (error, args) in [
            (ProtocolError::PacketsOutOfOrder, None),
            (ProtocolError::PacketTooLarge, None),
            (ProtocolError::Uncompress, None),
            (ProtocolError::MalformedPacket, None),
            (ProtocolError::WrongArguments("x"), Some("x")),
            (ProtocolError::Handshake, None),
            (ProtocolError::OldClient, None),
            (ProtocolError::UnknownCommand, None),
        ] {
            let def = vaquita_types::errno::by_code(error.errno()).unwrap();
            let args: Vec<&dyn fmt::Display> = args.iter().map(|a| a as &dyn fmt::Display).collect();
            assert_eq!(error.to_string(), vaquita_types::Error::new(def, &args).message());
            assert_eq!(error.sqlstate().as_bytes(), def.sqlstate);
        }
        assert_eq!(vaquita_types::Error::from(ProtocolError::ParameterOutOfRange("TIME")).sqlstate(), "22003");
    }
}
