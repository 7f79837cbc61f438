// The scenario of run.sh with go-sql-driver. Statements with arguments are prepared by the server (interpolateParams is off).
package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

const document = `{"a": [1, 2.5, null], "k": "🐄"}`
const many = 10000

func check(err error) {
	if err != nil {
		log.Output(2, err.Error())
		os.Exit(1)
	}
}

func assert(ok bool, got ...any) {
	if !ok {
		log.Output(2, "got "+fmt.Sprintf("%#v", got))
		os.Exit(1)
	}
}

func exec(db interface {
	Exec(string, ...any) (sql.Result, error)
}, query string, args ...any) sql.Result {
	result, err := db.Exec(query, args...)
	check(err)
	return result
}

func open(database string) *sql.DB {
	config := mysql.NewConfig()
	config.User, config.Passwd, config.DBName = os.Getenv("DB_USER"), os.Getenv("DB_PASSWORD"), database
	config.Net, config.Addr = "tcp", os.Getenv("DB_HOST")+":"+os.Getenv("DB_PORT")
	config.ParseTime = true
	if os.Getenv("DB_TLS") == "1" {
		config.TLSConfig = "skip-verify"
	}
	db, err := sql.Open("mysql", config.FormatDSN())
	check(err)
	return db
}

// One row of t, as written and as it must come back.
type row struct {
	N  uint64
	M  string
	F  float64
	S  string
	B  []byte
	D  time.Time
	Ts time.Time
	Tm string
	J  string
	Z  sql.NullInt64
}

func (r *row) fields() []any {
	return []any{&r.N, &r.M, &r.F, &r.S, &r.B, &r.D, &r.Ts, &r.Tm, &r.J, &r.Z}
}

func main() {
	log.SetFlags(log.Lshortfile)
	name := os.Getenv("DB_NAME")
	server := open("")
	check(server.Ping())
	var variable, cipher string
	check(server.QueryRow("SHOW SESSION STATUS LIKE 'Ssl_cipher'").Scan(&variable, &cipher))
	assert((cipher != "") == (os.Getenv("DB_TLS") == "1"), cipher)
	exec(server, "DROP DATABASE IF EXISTS "+name)
	exec(server, "CREATE DATABASE "+name)
	db := open(name)
	exec(db, `CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, n BIGINT UNSIGNED, m DECIMAL(20,4), f DOUBLE, s VARCHAR(50), b BLOB,
		d DATE, ts DATETIME(6), tm TIME, j JSON, z INT, UNIQUE KEY s_unique (s))`)

	written := row{18446744073709551615, "1234567890123456.7891", 0.1, "Grüße 🐄", []byte("\x00\xff'\\\n\x1a"),
		time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC), time.Date(2024, 2, 29, 23, 59, 59, 123456000, time.UTC), "12:34:56", document, sql.NullInt64{}}
	insert, err := db.Prepare("INSERT INTO t (n, m, f, s, b, d, ts, tm, j, z) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
	check(err)
	result, err := insert.Exec(written.N, written.M, written.F, written.S, written.B, written.D, written.Ts, written.Tm, written.J, written.Z)
	check(err)
	id, _ := result.LastInsertId()
	affected, _ := result.RowsAffected()
	assert(id == 1 && affected == 1, id, affected)

	// Once as text and once from a prepared statement, which answers in the binary protocol.
	for _, args := range [][]any{{}, {1}} {
		query := "SELECT n, m, f, s, b, d, ts, tm, j, z FROM t WHERE id = " + map[bool]string{true: "?", false: "1"}[len(args) == 1]
		var read row
		check(db.QueryRow(query, args...).Scan(read.fields()...))
		var got, want any
		check(json.Unmarshal([]byte(read.J), &got))
		check(json.Unmarshal([]byte(document), &want))
		assert(reflect.DeepEqual(got, want), read.J)
		read.J = document
		assert(bytes.Equal(read.B, written.B), read.B)
		assert(reflect.DeepEqual(read, written), read)
	}

	_, err = db.Exec("INSERT INTO t (s) VALUES (?)", written.S)
	var mysqlError *mysql.MySQLError
	assert(errors.As(err, &mysqlError) && mysqlError.Number == 1062 && string(mysqlError.SQLState[:]) == "23000", err)

	tx, err := db.Begin()
	check(err)
	exec(tx, "INSERT INTO t (s) VALUES (?)", "rolled back")
	check(tx.Rollback())
	var count int
	check(db.QueryRow("SELECT COUNT(*) FROM t").Scan(&count))
	assert(count == 1, count)

	exec(db, "CREATE TABLE many (id INT PRIMARY KEY, s VARCHAR(50))")
	for from := 0; from < many; from += 1000 {
		args := []any{}
		for i := from; i < from+1000; i++ {
			args = append(args, i, fmt.Sprintf("row %d", i))
		}
		exec(db, "INSERT INTO many VALUES (?, ?)"+strings.Repeat(", (?, ?)", 999), args...)
	}
	rows, err := db.Query("SELECT id, s FROM many ORDER BY id")
	check(err)
	next := 0
	for ; rows.Next(); next++ {
		var i int
		var s string
		check(rows.Scan(&i, &s))
		assert(i == next && s == fmt.Sprintf("row %d", next), i, s)
	}
	check(rows.Err())
	assert(next == many, next)
	exec(db, "DROP DATABASE "+name)
}
