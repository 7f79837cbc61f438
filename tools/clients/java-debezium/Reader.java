// Debezium's engine without Kafka: the snapshot of a schema, what changes afterwards, and what changed while it was down.

import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class Reader {
    static final int PATIENCE_SECONDS = 25;
    static final String HOST = System.getenv("DB_HOST"), PORT = System.getenv("DB_PORT"), NAME = System.getenv("DB_NAME");
    static final String USER = System.getenv("DB_USER"), PASSWORD = System.getenv("DB_PASSWORD");
    static final boolean TLS = "1".equals(System.getenv("DB_TLS"));

    static Properties settings(Path state) {
        Properties p = new Properties();
        p.put("name", "reader");
        p.put("connector.class", "io.debezium.connector.mysql.MySqlConnector");
        p.put("offset.storage", "org.apache.kafka.connect.storage.FileOffsetBackingStore");
        p.put("offset.storage.file.filename", state.resolve("offsets").toString());
        p.put("offset.flush.interval.ms", "0");
        p.put("schema.history.internal", "io.debezium.storage.file.history.FileSchemaHistory");
        p.put("schema.history.internal.file.filename", state.resolve("history").toString());
        p.put("schema.history.internal.store.only.captured.tables.ddl", "true");
        p.put("database.hostname", HOST);
        p.put("database.port", PORT);
        p.put("database.user", USER);
        p.put("database.password", PASSWORD);
        p.put("database.ssl.mode", TLS ? "required" : "disabled");
        p.put("driver.allowPublicKeyRetrieval", "true");
        p.put("database.server.id", TLS ? "4000000022" : "4000000021");
        p.put("topic.prefix", "p");
        p.put("database.include.list", NAME);
        p.put("include.schema.changes", "false");
        p.put("decimal.handling.mode", "string");
        p.put("binary.handling.mode", "hex");
        p.put("tombstones.on.delete", "false");
        return p;
    }

    /** Of a change: its kind, and the row before and after it. */
    static String shown(String event) {
        String payload = event.substring(event.indexOf("\"payload\":"));
        Matcher m = Pattern.compile("\"before\":(null|\\{.*?\\}),\"after\":(null|\\{.*?\\}),\"source\".*\"op\":\"(.)\"").matcher(payload);
        return m.find() ? m.group(3) + " " + m.group(1) + " " + m.group(2) : payload;
    }

    static void read(Path state, Runnable changes, String... expected) throws Exception {
        BlockingQueue<String> events = new LinkedBlockingQueue<>();
        DebeziumEngine<ChangeEvent<String, String>> engine = DebeziumEngine.create(Json.class).using(settings(state))
            .using((success, message, error) -> events.add("ended: " + message + " " + error))
            .notifying(event -> events.add(shown(event.value()))).build();
        Thread thread = new Thread(engine);
        thread.start();
        List<String> found = new ArrayList<>();
        for (String wanted : expected) {
            if (wanted.equals("changes")) {
                changes.run();
                continue;
            }
            String event = events.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
            found.add(event);
            if (!wanted.equals(event)) {
                System.err.println("not " + wanted + " but " + event + "; before: " + found);
                System.exit(1);
            }
        }
        engine.close();
        thread.join();
    }

    public static void main(String[] args) throws Exception {
        String url = "jdbc:mysql://" + HOST + ":" + PORT + "/?allowPublicKeyRetrieval=true&sslMode=" + (TLS ? "REQUIRED" : "DISABLED");
        Path state = Files.createTempDirectory("debezium");
        try (Connection connection = DriverManager.getConnection(url, USER, PASSWORD); Statement statement = connection.createStatement()) {
            String[] schema = {
                "DROP DATABASE IF EXISTS " + NAME, "CREATE DATABASE " + NAME, "USE " + NAME,
                "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(50), d DECIMAL(20,4), b VARBINARY(9), e ENUM('eins','zwei'), t DATETIME(3))",
                "INSERT INTO t VALUES (1, 'Grüße 🐄', 1234567890123456.7891, x'00ff', 'zwei', '2024-02-29 12:34:56.789')"};
            for (String text : schema) statement.execute(text);
            Runnable changes = () -> {
                try {
                    statement.execute("UPDATE t SET s = NULL WHERE id = 1");
                    connection.setAutoCommit(false);
                    statement.execute("INSERT INTO t (id) VALUES (2)");
                    connection.rollback();
                    connection.setAutoCommit(true);
                    statement.execute("ALTER TABLE t ADD COLUMN n BIGINT NOT NULL DEFAULT 7, DROP COLUMN d");
                    statement.execute("DELETE FROM t");
                } catch (java.sql.SQLException error) {
                    throw new IllegalStateException(error);
                }
            };
            String rest = ",\"d\":\"1234567890123456.7891\",\"b\":\"00ff\",\"e\":\"zwei\",\"t\":1709210096789}";
            String first = "{\"id\":1,\"s\":\"Grüße \\uD83D\\uDC04\"" + rest, second = "{\"id\":1,\"s\":null" + rest;
            String third = "{\"id\":1,\"s\":null,\"b\":\"00ff\",\"e\":\"zwei\",\"t\":1709210096789,\"n\":7}";
            read(state, changes, "r null " + first, "changes", "u " + first + " " + second, "d " + third + " null");
            statement.execute("FLUSH BINARY LOGS");
            statement.execute("INSERT INTO t (id, n) VALUES (3, 8)");
            read(state, changes, "c null {\"id\":3,\"s\":null,\"b\":null,\"e\":null,\"t\":null,\"n\":8}");
            statement.execute("DROP DATABASE " + NAME);
        }
        System.exit(0);
    }
}
