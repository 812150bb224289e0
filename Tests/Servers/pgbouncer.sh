# PgBouncer in transaction mode before PostgreSQL, whose own URL is directEndpoint. See postgres.sh.
. "$servers/postgres.sh"
own="directEndpoint"

install_server() { install_postgres && need_packages pgbouncer; }

launch_server() {
    launch_postgres || return
    directEndpoint=$endpoint
    sql_ports=$ports
    take_ports pooler || return
    ports="$sql_ports $pooler"
    endpoint="postgres://$accessKey@127.0.0.1:$pooler/postgres"
    # With server_round_robin, a transaction rarely runs in the session of the one before. Each user has its own
    # sessions.
    cat >"$home/pgbouncer.ini" <<END || return
[databases]
* = host=127.0.0.1 port=$sql
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $pooler
unix_socket_dir =
pool_mode = transaction
auth_type = scram-sha-256
auth_file = $home/users
auth_user = $accessKey
max_client_conn = 1000
default_pool_size = 20
server_round_robin = 1
log_connections = 0
log_disconnections = 0
END
    printf '"%s" "%s"\n' "$accessKey" "$secretKey" >"$home/users"
    # shellcheck disable=SC2086  # words
    launch pgbouncer $as /usr/sbin/pgbouncer --quiet "$home/pgbouncer.ini"
}
