# copyparty: no entity tags, 400 where others say 412.
profile="webdav"

install_server() { need_python copyparty copyparty==1.20.18; }

launch_server() {
    take_ports http || return
    endpoint="http://127.0.0.1:$http"
    health="$endpoint/"
    mkdir -p "$folder/objects"
    data=$folder/objects
    launch copyparty "$cache/copyparty/bin/copyparty" -i 127.0.0.1 -p "$http" -a "$accessKey:$secretKey" \
        -v "$folder/objects::rwmda,$accessKey" --daw --no-thumb --no-acode --no-hash '.*' --hist "$folder/history"
}
