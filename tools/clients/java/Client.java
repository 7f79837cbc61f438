// The scenario of run.sh with Connector/J; once with statements prepared by the server (useServerPrepStmts) and once without.
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.sql.*;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.Arrays;
import java.util.Objects;

public class Client {
    static final String DOCUMENT = "{\"a\": [1, 2.5, null], \"k\": \"🐄\"}";
    static final String COLUMNS = "n, m, f, s, b, d, ts, tm, j, z";
    static final int MANY = 10_000;
    static final Object[] ROW = {
        new BigInteger("18446744073709551615"), new BigDecimal("1234567890123456.7891"), 0.1, "Grüße 🐄", "\0ÿ'\\\n\u001a".getBytes(StandardCharsets.ISO_8859_1),
        LocalDate.of(2024, 2, 29), LocalDateTime.of(2024, 2, 29, 23, 59, 59, 123_456_000), LocalTime.of(12, 34, 56), DOCUMENT, null};

    static void check(Object want, Object got) {
        if (!Objects.deepEquals(want, got)) throw new AssertionError("expected " + want + ", got " + got);
    }

    public static void main(String[] args) throws Exception {
        try {
            for (boolean prepared : new boolean[] {false, true}) {
                System.out.println(prepared ? "prepared by the server" : "prepared by the driver");
                scenario(prepared);
            }
        } catch (Throwable e) {
            e.printStackTrace();
            System.err.println(e);   // the last line is what run.sh shows
            System.exit(1);
        }
    }

    static void scenario(boolean prepared) throws Exception {
        String name = System.getenv("DB_NAME");
        boolean tls = System.getenv("DB_TLS").equals("1");
        String url = "jdbc:mysql://" + System.getenv("DB_HOST") + ":" + System.getenv("DB_PORT") + "/?sslMode=" + (tls ? "REQUIRED" : "DISABLED")
            + "&allowPublicKeyRetrieval=true&connectionTimeZone=UTC&useServerPrepStmts=" + prepared + "&useCursorFetch=" + prepared;
        try (Connection c = DriverManager.getConnection(url, System.getenv("DB_USER"), System.getenv("DB_PASSWORD"))) {
            try (Statement s = c.createStatement()) {
                ResultSet r = s.executeQuery("SHOW SESSION STATUS LIKE 'Ssl_cipher'");
                r.next();
                check(tls, !r.getString(2).isEmpty());
                s.execute("DROP DATABASE IF EXISTS " + name);
                s.execute("CREATE DATABASE " + name);
            }
            c.setCatalog(name);   // holds for statements made after it
            inDatabase(c, name);
        }
    }

    static void inDatabase(Connection c, String name) throws SQLException {
        try (Statement s = c.createStatement()) {
            s.execute("CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, n BIGINT UNSIGNED, m DECIMAL(20,4), f DOUBLE, s VARCHAR(50), b BLOB, "
                + "d DATE, ts DATETIME(6), tm TIME, j JSON, z INT, UNIQUE KEY s_unique (s))");
            typedValues(c);
            try (PreparedStatement p = c.prepareStatement("INSERT INTO t (s) VALUES (?)")) {
                p.setString(1, (String) ROW[3]);
                p.executeUpdate();
                throw new AssertionError("a duplicate key was accepted");
            } catch (SQLIntegrityConstraintViolationException e) {
                check(1062, e.getErrorCode());
                check("23000", e.getSQLState());
            }
            c.setAutoCommit(false);
            s.executeUpdate("INSERT INTO t (s) VALUES ('rolled back')");
            c.rollback();
            try (ResultSet r = s.executeQuery("SELECT COUNT(*) FROM t")) {
                r.next();
                check(1, r.getInt(1));
            }
            manyRows(c);
            try (ResultSet r = c.getMetaData().getColumns(name, null, "t", "m")) {
                r.next();
                check(Types.DECIMAL, r.getInt("DATA_TYPE"));
                check(20, r.getInt("COLUMN_SIZE"));
            }
            s.execute("DROP DATABASE " + name);
        }
    }

    static void typedValues(Connection c) throws SQLException {
        try (PreparedStatement p = c.prepareStatement("INSERT INTO t (" + COLUMNS + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", Statement.RETURN_GENERATED_KEYS)) {
            for (int i = 0; i < ROW.length; i++) p.setObject(i + 1, ROW[i]);
            check(1, p.executeUpdate());
            ResultSet keys = p.getGeneratedKeys();
            keys.next();
            check(1, keys.getInt(1));
        }
        try (PreparedStatement p = c.prepareStatement("SELECT " + COLUMNS + " FROM t WHERE s = ?")) {
            p.setString(1, (String) ROW[3]);
            ResultSet r = p.executeQuery();
            check(true, r.next());
            Object[] got = {r.getObject(1), r.getObject(2), r.getObject(3), r.getObject(4), r.getBytes(5), r.getObject(6, LocalDate.class),
                r.getObject(7, LocalDateTime.class), r.getObject(8, LocalTime.class), r.getObject(9), r.getObject(10)};
            // The server writes JSON with its own spaces, which are those of DOCUMENT.
            for (int i = 0; i < ROW.length; i++) check(ROW[i], got[i]);
            check(false, r.next());
        }
    }

    static void manyRows(Connection c) throws SQLException {
        try (Statement s = c.createStatement()) {
            s.execute("CREATE TABLE many (id INT PRIMARY KEY, s VARCHAR(50))");
        }
        try (PreparedStatement p = c.prepareStatement("INSERT INTO many VALUES (?, ?)")) {
            for (int i = 0; i < MANY; i++) {
                p.setInt(1, i);
                p.setString(2, "row " + i);
                p.addBatch();
            }
            check(MANY, Arrays.stream(p.executeBatch()).sum());
        }
        c.commit();
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SELECT id, s FROM many ORDER BY id")) {
            int next = 0;
            for (; r.next(); next++) {
                check(next, r.getInt(1));
                check("row " + next, r.getString(2));
            }
            check(MANY, next);
        }
        try (PreparedStatement p = c.prepareStatement("SELECT id, s FROM many WHERE id >= ? ORDER BY id")) {
            p.setFetchSize(997);   // with useCursorFetch the rows come from a cursor of the server
            p.setInt(1, 10);
            try (ResultSet r = p.executeQuery()) {
                int next = 10;
                for (; r.next(); next++) {
                    check(next, r.getInt(1));
                    check("row " + next, r.getString(2));
                }
                check(MANY, next);
            }
        }
    }
}
