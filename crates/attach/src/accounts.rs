//! `--users`: the accounts of the source with their privileges, as statements that the target can run.
//!
//! Passwords come as hashes. Accounts that exist on the target stay as they are: nobody shall be locked out of it.

use crate::Result;
use crate::client::{Client, quoted};
use crate::definitions::LeftOut;
use crate::server::{Kind, Server};

const OF_SERVERS: [&str; 6] = ["mysql.sys", "mysql.session", "mysql.infoschema", "mariadb.sys", "root", ""];

/// Makes them; what was refused is told.
pub fn copy(source: &mut Client, server: &Server, target: &mut Client) -> Result<LeftOut> {
    let mut left_out = LeftOut::new();
    let roles = if server.kind == Kind::MariaDb { " WHERE is_role = 'N'" } else { "" };
    let accounts = source.rows(&format!("SELECT user, host FROM mysql.user{roles} ORDER BY 1, 2"))?;
    // Binary salts as text cannot be sent.
    let _ = source.run("SET SESSION print_identified_with_as_hex = ON");
    let mut made = Vec::new();
    for row in accounts {
        let [user, host] = &row[..] else { continue };
        if OF_SERVERS.contains(&user.as_str()) {
            continue;
        }
        let account = format!("{}@{}", quoted(user), quoted(host));
        let shown = source.value(&format!("SHOW CREATE USER {account}"))?;
        let create =
            shown.replacen("CREATE USER ", "CREATE USER IF NOT EXISTS ", 1).replace(" IDENTIFIED VIA ", " IDENTIFIED WITH ");
        let create = match create.split_once(" IDENTIFIED BY PASSWORD ") {
            // MariaDB's words for its native passwords.
            Some((head, tail)) => format!("{head} IDENTIFIED WITH mysql_native_password AS {tail}"),
            None => create,
        };
        match target.run(&create) {
            Ok(_) => made.push(account),
            Err(error) => left_out.push((format!("account {account}"), error.text)),
        }
    }
    for account in made {
        for grant in source.rows(&format!("SHOW GRANTS FOR {account}"))? {
            let grant = grant.into_iter().next().unwrap_or_default();
            // MariaDB's say the password once more.
            let grant = match (grant.split_once(" IDENTIFIED "), grant.ends_with(" WITH GRANT OPTION")) {
                (Some((head, _)), true) => format!("{head} WITH GRANT OPTION"),
                (Some((head, _)), false) => head.to_string(),
                (None, _) => grant,
            };
            if let Err(error) = target.run(&grant) {
                left_out.push((grant.chars().take(60).collect(), error.text));
            }
        }
    }
    Ok(left_out)
}
