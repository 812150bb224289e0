# OpenStack Swift with its S3 interface, one node of one device: checks all of a signature, the payload hash and the
# region. It keeps no checksums, and knows no If-Match on PUT.
profile="openstack-swift"
accessKey="test:tester"

install_server() {
    need_packages memcached && need_python swift swift==2.38.3 lxml 'setuptools<81'
}

launch_server() {
    take_ports proxy account container object memcached || return
    endpoint="http://127.0.0.1:$proxy"
    health="$endpoint/healthcheck"
    swift=$cache/swift/bin
    data=$folder/devices
    mkdir -p "$data/d1" "$folder/recon"
    write_rings >"$folder/rings.log" 2>&1 || return
    write_configuration
    launch memcached memcached -u "$(id -un)" -l 127.0.0.1 -p "$memcached" -m 64
    for server in account container object proxy; do
        launch "$server" "$swift/swift-$server-server" "$folder/$server.conf" -v
    done
}

write_rings() {
    "$swift/python" - "$folder" account="$account" container="$container" object="$object" <<'END'
import sys
from swift.common.ring import RingBuilder

for ring in sys.argv[2:]:
    name, port = ring.split("=")
    builder = RingBuilder(2, 1, 1)
    place = {"ip": "127.0.0.1", "port": int(port), "replication_ip": "127.0.0.1", "replication_port": int(port)}
    builder.add_dev({"id": 0, "region": 1, "zone": 1, "device": "d1", "weight": 1.0, "meta": "", **place})
    builder.rebalance()
    builder.get_ring().save(f"{sys.argv[1]}/{name}.ring.gz")
END
}

# server_section PORT
server_section() {
    cat <<END
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = $1
bind_timeout = 1
user = $(id -un)
workers = 0
swift_dir = $folder
devices = $data
mount_check = false
disable_fallocate = true
fallocate_reserve = 0
log_level = WARNING
log_address = $folder/no-syslog
recon_cache_path = $folder/recon
END
}

# The time limits are long, and errors are no reason to give the one device up: a slow machine is no failure here.
write_configuration() {
    cat >"$folder/swift.conf" <<END
[swift-hash]
swift_hash_path_prefix = tests
swift_hash_path_suffix = tests
[storage-policy:0]
name = single
default = yes
[swift-constraints]
max_file_size = 5368709122
END
    for server in account container object; do
        eval "port=\$$server"
        {
            server_section "$port"
            cat <<END
[pipeline:main]
pipeline = $server-server
[app:$server-server]
use = egg:swift#$server
allow_versions = on
conn_timeout = 10
node_timeout = 60
container_update_timeout = 60
END
        } >"$folder/$server.conf"
    done
    {
        server_section "$proxy"
        cat <<END
[pipeline:main]
pipeline = catch_errors gatekeeper healthcheck cache listing_formats bulk s3api tempauth slo dlo versioned_writes symlink copy proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
conn_timeout = 10
node_timeout = 60
error_suppression_limit = 1000000
recheck_container_existence = 1
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:$memcached
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = $secretKey .admin
[filter:s3api]
use = egg:swift#s3api
location = $region
storage_domain = s3.localhost
dns_compliant_bucket_names = true
allow_no_owner = true
s3_acl = false
check_bucket_owner = false
[filter:versioned_writes]
use = egg:swift#versioned_writes
allow_object_versioning = true
END
        for filter in catch_errors gatekeeper healthcheck listing_formats bulk slo dlo symlink copy; do
            printf '[filter:%s]\nuse = egg:swift#%s\n' $filter $filter
        done
    } >"$folder/proxy.conf"
}
