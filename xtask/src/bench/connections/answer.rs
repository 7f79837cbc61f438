//! The packets of a prepared point select, as far as a client must look at them that only counts answers.
//!
//! With CLIENT_DEPRECATE_EOF, which the client asks for, an answer is: column count, column definitions, rows, OK with header 0xfe.

pub const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const TYPE_LONG: u8 = 3;
const ERR: u8 = 0xff;
const OK_AT_END: u8 = 0xfe;
const HEADER_BYTES: usize = 4;

pub struct Prepared {
    pub statement: u32,
    /// Packets that follow: parameters and columns.
    pub descriptions: usize,
}

/// COM_STMT_PREPARE_OK: status 0, statement id (4), columns (2), parameters (2), …
pub fn prepared(packet: &[u8]) -> Result<Prepared, String> {
    match packet {
        [0, a, b, c, d, columns_low, columns_high, params_low, params_high, ..] => Ok(Prepared {
            statement: u32::from_le_bytes([*a, *b, *c, *d]),
            descriptions: usize::from(u16::from_le_bytes([*columns_low, *columns_high]))
                + usize::from(u16::from_le_bytes([*params_low, *params_high])),
        }),
        _ => Err(format!("not prepared: {}", String::from_utf8_lossy(packet))),
    }
}

/// The packet that executes a statement with one integer.
pub fn execute(statement: u32, id: u32) -> [u8; 22] {
    let mut packet = [0; 22];
    packet[0] = (packet.len() - HEADER_BYTES) as u8;
    packet[4] = COM_STMT_EXECUTE;
    packet[5..9].copy_from_slice(&statement.to_le_bytes());
    // No cursor; one iteration; not NULL; types follow.
    packet[10] = 1;
    packet[15] = 1;
    packet[16] = TYPE_LONG;
    packet[18..22].copy_from_slice(&id.to_le_bytes());
    packet
}

/// Where an answer stands.
#[derive(Default)]
pub struct Answer {
    /// What came of a packet that is not whole yet.
    partial: Vec<u8>,
    packets: u64,
    columns: u64,
    rows: u64,
}

impl Answer {
    /// Takes the next bytes; the number of rows once the answer is whole, and then begins a new one.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Option<u64>, String> {
        let held;
        let mut rest = if self.partial.is_empty() {
            bytes
        } else {
            self.partial.extend_from_slice(bytes);
            held = std::mem::take(&mut self.partial);
            &held
        };
        while let [a, b, c, _seq, after @ ..] = rest {
            let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
            let Some(payload) = after.get(..length) else { break };
            rest = &after[length..];
            if self.packet(payload)? {
                let rows = self.rows;
                *self = Answer::default();
                return if rest.is_empty() { Ok(Some(rows)) } else { Err("more than an answer".into()) };
            }
        }
        self.partial.extend_from_slice(rest);
        Ok(None)
    }

    /// Whether the packet ends the answer.
    fn packet(&mut self, payload: &[u8]) -> Result<bool, String> {
        self.packets += 1;
        match payload.first() {
            Some(&ERR) => Err(error_text(payload)),
            Some(&count) if self.packets == 1 => {
                self.columns = u64::from(count);
                Ok(false)
            }
            Some(&OK_AT_END) if self.packets > 1 + self.columns => Ok(true),
            Some(_) => {
                self.rows += u64::from(self.packets > 1 + self.columns);
                Ok(false)
            }
            None => Err("an empty packet".into()),
        }
    }
}

/// Of an ERR packet: errno (2), '#' and SQLSTATE (6), text.
fn error_text(payload: &[u8]) -> String {
    let code = payload.get(1..3).map_or(0, |code| u16::from_le_bytes([code[0], code[1]]));
    format!("{code} {}", String::from_utf8_lossy(payload.get(9..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(payloads: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        for (seq, payload) in payloads.iter().enumerate() {
            out.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
            out.push(seq as u8 + 1);
            out.extend_from_slice(payload);
        }
        out
    }

    const ROW: &[u8] = &[0, 0, 3, b'a', b'b', b'c'];
    const END: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];

    #[test]
    fn an_answer_cut_anywhere() {
        let bytes = packets(&[&[1], b"\x03def column", ROW, END]);
        for cut in 0..bytes.len() {
            let mut answer = Answer::default();
            assert_eq!(answer.feed(&bytes[..cut]), Ok(None), "{cut}");
            assert_eq!(answer.feed(&bytes[cut..]), Ok(Some(1)), "{cut}");
            assert_eq!(answer.feed(&packets(&[&[1], b"\x03def column", END])), Ok(Some(0)));
        }
    }

    #[test]
    fn errors_have_their_text() {
        let error = packets(&[b"\xff\x7a\x04#42S02Table 'a.b' doesn't exist"]);
        assert_eq!(Answer::default().feed(&error), Err("1146 Table 'a.b' doesn't exist".into()));
    }

    #[test]
    fn the_packets_of_a_prepared_statement() {
        let found = prepared(&[0, 7, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0]).map(|p| (p.statement, p.descriptions));
        assert_eq!(found, Ok((263, 2)));
        assert!(prepared(b"\xff\x7a\x04#42S02no").is_err());
        let packet = execute(263, 0x01020304);
        assert_eq!(packet, [18, 0, 0, 0, 0x17, 7, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 0, 4, 3, 2, 1]);
    }
}
