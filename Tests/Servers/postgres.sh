# PostgreSQL, for the rows that devices share. No storage: accessKey and secretKey are user and password, and `with` hands
# the password on as PGPASSWORD. Nothing waits for the disk, for the data is made to be thrown away.
profile="postgres"
accessKey="lfs"

install_server() { install_postgres; }
install_postgres() {
    if ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then
        # Debian's package would make and start a server of its own.
        root=$([ "$(id -u)" = 0 ] || echo sudo)
        $root mkdir -p /etc/postgresql-common || return
        [ -e /etc/postgresql-common/createcluster.conf ] ||
            echo "create_main_cluster = false" | $root tee /etc/postgresql-common/createcluster.conf >/dev/null || return
    fi
    need_packages postgresql libpq-dev
}

launch_server() { launch_postgres; }
launch_postgres() {
    take_ports sql || return
    endpoint="postgres://$accessKey@127.0.0.1:$sql/postgres"
    health="postgres://127.0.0.1:$sql/$accessKey"
    programs=$(dirname "$(find /usr/lib/postgresql/*/bin/initdb | sort -V | tail -n 1)")
    # A folder of its own, since the server does not run as root, who alone may read the others.
    home=$(mktemp -d "${TMPDIR:-/tmp}/lfs-postgres.XXXXXX") || return
    echo "$home" >>"$folder/leftovers"
    as=""
    if [ "$(id -u)" = 0 ]; then
        chown postgres "$home" || return
        as="setpriv --reuid=postgres --regid=postgres --init-groups"
    fi
    printf '%s\n' "$secretKey" >"$home/password"
    chmod 644 "$home/password"
    # shellcheck disable=SC2086  # words
    (cd / && $as "$programs/initdb" --pgdata "$home/rows" --username "$accessKey" --pwfile "$home/password" \
        --auth scram-sha-256 --encoding UTF8 --locale C.UTF-8 --no-sync) >"$folder/initdb.log" 2>&1 || return
    # shellcheck disable=SC2086
    launch postgres $as "$programs/postgres" -D "$home/rows" -p "$sql" -c listen_addresses=127.0.0.1 \
        -c unix_socket_directories= -c fsync=off -c max_connections=1000 -c max_prepared_transactions=8 \
        -c deadlock_timeout=100ms -c log_min_messages=fatal -c log_min_error_statement=panic
}
