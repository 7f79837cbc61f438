//! The scenario of run.sh with Rust's sqlx: `raw_sql` sends text, `query` prepares on the server and reads the binary protocol.

use futures_util::TryStreamExt;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlRow, MySqlSslMode};
use sqlx::types::chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use sqlx::types::{Decimal, Json};
use sqlx::{Connection, FromRow, QueryBuilder, Row};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const MANY: u32 = 10_000;

#[derive(Debug, PartialEq)]
struct Typed {
    n: u64,
    m: Decimal,
    f: f64,
    s: String,
    b: Vec<u8>,
    d: NaiveDate,
    ts: NaiveDateTime,
    tm: NaiveTime,
    j: Json<(Vec<Option<f64>>, String)>,
    z: Option<i32>,
}

impl FromRow<'_, MySqlRow> for Typed {
    fn from_row(row: &MySqlRow) -> sqlx::Result<Self> {
        Ok(Typed {
            n: row.try_get("n")?,
            m: row.try_get("m")?,
            f: row.try_get("f")?,
            s: row.try_get("s")?,
            b: row.try_get("b")?,
            d: row.try_get("d")?,
            ts: row.try_get("ts")?,
            tm: row.try_get("tm")?,
            j: row.try_get("j")?,
            z: row.try_get("z")?,
        })
    }
}

fn variable(name: &str) -> Result<String> {
    std::env::var(name).map_err(|_| format!("{name} is not set").into())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let name = variable("DB_NAME")?;
    let tls = variable("DB_TLS")? == "1";
    let options = MySqlConnectOptions::new()
        .host(&variable("DB_HOST")?)
        .port(variable("DB_PORT")?.parse()?)
        .username(&variable("DB_USER")?)
        .password(&variable("DB_PASSWORD")?)
        .ssl_mode(if tls { MySqlSslMode::Required } else { MySqlSslMode::Disabled });
    let mut c = MySqlConnection::connect_with(&options).await?;
    let status = sqlx::raw_sql("SHOW SESSION STATUS LIKE 'Ssl_cipher'").fetch_one(&mut c).await?;
    assert_eq!(!status.get::<String, _>(1).is_empty(), tls);
    sqlx::raw_sql(&format!("DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}; USE {name}")).execute(&mut c).await?;
    let table = "CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, n BIGINT UNSIGNED, m DECIMAL(20,4), f DOUBLE, s VARCHAR(50), b BLOB, \
                 d DATE, ts DATETIME(6), tm TIME, j JSON, z INT, UNIQUE KEY s_unique (s))";
    sqlx::query(table).execute(&mut c).await?;

    typed_values(&mut c).await?;

    let error = sqlx::query("INSERT INTO t (s) VALUES (?)").bind("Grüße 🐄").execute(&mut c).await.unwrap_err();
    let error = error.as_database_error().ok_or("not an error of the server")?;
    assert!(error.is_unique_violation() && error.code().as_deref() == Some("23000"), "{error:?}");
    assert_eq!(error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>().map(|e| e.number()), Some(1062));

    let mut transaction = c.begin().await?;
    sqlx::query("INSERT INTO t (s) VALUES ('rolled back')").execute(&mut *transaction).await?;
    transaction.rollback().await?;
    let count: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM t").fetch_one(&mut c).await?;
    assert_eq!(count, 1);

    many_rows(&mut c).await?;
    sqlx::query(&format!("DROP DATABASE {name}")).execute(&mut c).await?;
    c.close().await?;
    Ok(())
}

async fn typed_values(c: &mut MySqlConnection) -> Result<()> {
    let day = NaiveDate::from_ymd_opt(2024, 2, 29).ok_or("date")?;
    let row = Typed {
        n: u64::MAX,
        m: "1234567890123456.7891".parse()?,
        f: 0.1,
        s: "Grüße 🐄".into(),
        b: b"\x00\xff'\\\n\x1a".to_vec(),
        d: day,
        ts: day.and_hms_micro_opt(23, 59, 59, 123_456).ok_or("time")?,
        tm: NaiveTime::from_hms_opt(12, 34, 56).ok_or("time")?,
        j: Json((vec![Some(1.0), Some(2.5), None], "🐄".into())),
        z: None,
    };
    let insert = sqlx::query("INSERT INTO t (n, m, f, s, b, d, ts, tm, j, z) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    let insert = insert.bind(row.n).bind(row.m).bind(row.f).bind(&row.s).bind(&row.b).bind(row.d).bind(row.ts).bind(row.tm).bind(&row.j).bind(row.z);
    let result = insert.execute(&mut *c).await?;
    assert_eq!((result.last_insert_id(), result.rows_affected()), (1, 1));
    let read: Vec<Typed> = sqlx::query_as("SELECT n, m, f, s, b, d, ts, tm, j, z FROM t WHERE s = ?").bind(&row.s).fetch_all(&mut *c).await?;
    assert_eq!(read, [row]);
    Ok(())
}

async fn many_rows(c: &mut MySqlConnection) -> Result<()> {
    sqlx::query("CREATE TABLE many (id INT PRIMARY KEY, s VARCHAR(50))").execute(&mut *c).await?;
    for from in (0..MANY).step_by(1000) {
        let mut insert = QueryBuilder::new("INSERT INTO many ");
        insert.push_values(from..from + 1000, |mut row, i| {
            row.push_bind(i).push_bind(format!("row {i}"));
        });
        insert.build().execute(&mut *c).await?;
    }
    let mut rows = sqlx::query_as::<_, (u32, String)>("SELECT CAST(id AS UNSIGNED), s FROM many ORDER BY id").fetch(c);
    let mut next = 0;
    while let Some(row) = rows.try_next().await? {
        assert_eq!(row, (next, format!("row {next}")));
        next += 1;
    }
    assert_eq!(next, MANY);
    Ok(())
}
