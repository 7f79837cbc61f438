// The replication and canal packages of go-mysql: rows of the binary log by GTID, and a canal that dumps nothing and goes on from a position.
package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"os"
	"reflect"
	"strconv"
	"time"

	"github.com/go-mysql-org/go-mysql/canal"
	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
)

const patience = 20 * time.Second

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func expect(found, wanted any) {
	if !reflect.DeepEqual(found, wanted) {
		log.Fatalf("found %#v, not %#v", found, wanted)
	}
}

type handler struct {
	canal.DummyEventHandler
	rows chan string
}

func (h *handler) OnRow(e *canal.RowsEvent) error {
	h.rows <- fmt.Sprint(e.Action, " ", e.Table.Name, " ", e.Rows)
	return nil
}

func main() {
	log.SetFlags(0)
	env := os.Getenv
	port, err := strconv.ParseUint(env("DB_PORT"), 10, 16)
	check(err)
	var tlsConfig *tls.Config
	if env("DB_TLS") == "1" {
		tlsConfig = &tls.Config{InsecureSkipVerify: true}
	}
	address, database := env("DB_HOST")+":"+env("DB_PORT"), env("DB_NAME")
	conn, err := client.Connect(address, env("DB_USER"), env("DB_PASSWORD"), "", func(c *client.Conn) error {
		if tlsConfig != nil {
			c.SetTLSConfig(tlsConfig)
		}
		return nil
	})
	check(err)
	run := func(statement string) *mysql.Result {
		result, err := conn.Execute(statement)
		check(err)
		return result
	}
	value := func(statement string, column int) string {
		text, err := run(statement).GetString(0, column)
		check(err)
		return text
	}
	expect(value("SHOW SESSION STATUS LIKE 'Ssl_cipher'", 1) != "", tlsConfig != nil)
	status := run("SHOW BINARY LOGS")
	last := status.RowNumber() - 1
	file, err := status.GetString(last, 0)
	check(err)
	size, err := status.GetUint(last, 1)
	check(err)
	begin := mysql.Position{Name: file, Pos: uint32(size)}
	mode, executed := value("SELECT @@gtid_mode", 0), value("SELECT @@global.gtid_executed", 0)

	run("DROP DATABASE IF EXISTS " + database)
	run("CREATE DATABASE " + database)
	run("USE " + database)
	run("CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(50), d DECIMAL(20,4), ts DATETIME(6), b BLOB)")
	run("INSERT INTO t VALUES (1, 'Grüße 🐄', 1234567890123456.7891, '2024-02-29 23:59:59.123456', x'00ff')")
	run("FLUSH BINARY LOGS")
	run("UPDATE t SET s = NULL, b = x'01' WHERE id = 1")
	run("DELETE FROM t")

	syncer := replication.NewBinlogSyncer(replication.BinlogSyncerConfig{
		ServerID: 4_000_000_011, Flavor: "mysql", Host: env("DB_HOST"), Port: uint16(port), User: env("DB_USER"), Password: env("DB_PASSWORD"),
		TLSConfig: tlsConfig, VerifyChecksum: true, HeartbeatPeriod: time.Second,
	})
	var streamer *replication.BinlogStreamer
	if mode == "ON" {
		known, err := mysql.ParseGTIDSet("mysql", executed)
		check(err)
		streamer, err = syncer.StartSyncGTID(known)
		check(err)
	} else {
		streamer, err = syncer.StartSync(begin)
		check(err)
	}
	before := []any{int32(1), "Grüße 🐄", "1234567890123456.7891", "2024-02-29 23:59:59.123456", []byte{0, 0xff}}
	after := []any{int32(1), nil, before[2], before[3], []byte{1}}
	wanted := [][]any{before, before, after, after}
	for len(wanted) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		event, err := streamer.GetEvent(ctx)
		cancel()
		check(err)
		rows, isRows := event.Event.(*replication.RowsEvent)
		if !isRows || string(rows.Table.Schema) != database {
			continue
		}
		for _, row := range rows.Rows {
			expect(row, wanted[0])
			wanted = wanted[1:]
		}
	}
	syncer.Close()

	config := canal.NewDefaultConfig()
	config.Addr, config.User, config.Password, config.TLSConfig = address, env("DB_USER"), env("DB_PASSWORD"), tlsConfig
	config.ServerID, config.Dump.ExecutionPath = 4_000_000_012, ""
	config.IncludeTableRegex = []string{"^" + database + "\\."}
	c, err := canal.NewCanal(config)
	check(err)
	h := &handler{rows: make(chan string, 10)}
	c.SetEventHandler(h)
	go func() { _ = c.RunFrom(begin) }()
	for _, action := range []string{"insert", "update", "delete"} {
		select {
		case row := <-h.rows:
			expect(row[:len(action)+2], action+" t")
		case <-time.After(patience):
			log.Fatal("no row for ", action)
		}
	}
	c.Close()
	run("DROP DATABASE " + database)
	check(conn.Close())
}
