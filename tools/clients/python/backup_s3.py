"""Backups in an object store that speaks S3: taken, with the log, verified, and restored to the moment before a DROP."""

import os
import subprocess
import sys
import tempfile
import urllib.parse

import boto3
import pymysql
from moto.server import ThreadedMotoServer

DATABASE = os.environ["DB_NAME"]
BUCKET = "vaquita-backups"


def vaquita(*arguments, fails=False):
    done = subprocess.run([os.environ["VAQUITA"], *arguments], capture_output=True, text=True)
    assert (done.returncode != 0) == fails, f"{arguments}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def main():
    store = ThreadedMotoServer(port=0, verbose=False)
    store.start()
    host, port = store.get_host_and_port()
    os.environ.update(
        AWS_ACCESS_KEY_ID="id",
        AWS_SECRET_ACCESS_KEY="secret",
        AWS_REGION="us-east-1",
        AWS_ALLOW_HTTP="true",
        AWS_ENDPOINT=f"http://{host}:{port}",
    )
    boto3.client("s3", endpoint_url=os.environ["AWS_ENDPOINT"], region_name="us-east-1").create_bucket(Bucket=BUCKET)
    login = dict(
        host=os.environ["DB_HOST"], port=int(os.environ["DB_PORT"]), user=os.environ["DB_USER"], password=os.environ["DB_PASSWORD"]
    )
    connection = pymysql.connect(**login, autocommit=True, ssl={"verify_mode": False} if os.environ["DB_TLS"] == "1" else None)
    cursor = connection.cursor()
    cursor.execute(f"CREATE DATABASE {DATABASE}")
    cursor.execute(f"CREATE TABLE {DATABASE}.t (id INT PRIMARY KEY, pad VARCHAR(2000))")
    for first in range(0, 20000, 500):
        rows = ",".join(f"({n}, REPEAT(SHA2({n}, 512), 15))" for n in range(first, first + 500))
        cursor.execute(f"INSERT INTO {DATABASE}.t VALUES {rows}")
    password = urllib.parse.quote(login["password"])
    source = ["--from", f"mysql://{login['user']}:{password}@{login['host']}:{login['port']}"]
    place = f"s3://{BUCKET}/{DATABASE}"
    with tempfile.TemporaryDirectory() as work:
        key = os.path.join(work, "key")
        with open(key, "w") as file:
            file.write("5a" * 32)
        for where, how in ((place, []), (f"{place}-sealed", ["--key-file", key])):
            vaquita("backup", where, *source, *how)
            cursor.execute(f"DELETE FROM {DATABASE}.t WHERE id < 10")
            vaquita("backup", where, *source, *how)
            vaquita("backup", where, *source, *how, "--log", "--once")
            vaquita("verify", where, *how)
        vaquita("verify", f"{place}-sealed", fails=True)
        cursor.execute(f"DROP TABLE {DATABASE}.t")
        vaquita("backup", place, *source, "--log", "--once")
        restored = os.path.join(work, "restored")
        told = vaquita("restore", place, "--data-dir", restored, "--before-statement")
        assert "DROP TABLE" in told, told
        vaquita("check", "--data-dir", restored)
        vaquita("backup", place, *source, "--keep", "1")
        assert len(vaquita("backups", place).splitlines()) == 2
        vaquita("verify", place)
        vaquita("backups", f"s3://{BUCKET}/none", fails=True)
    cursor.execute(f"DROP DATABASE {DATABASE}")
    store.stop()


sys.exit(main())
