# WsgiDAV: keeps what a cut PUT has sent, and shows a gap while a MOVE replaces.
profile="webdav"

install_server() { need_python wsgidav wsgidav==4.3.3 cheroot; }

launch_server() {
    take_ports http || return
    endpoint="http://127.0.0.1:$http"
    health="$endpoint/"
    mkdir -p "$folder/objects"
    data=$folder/objects
    cat >"$folder/wsgidav.yaml" <<END
host: 127.0.0.1
port: $http
server: cheroot
provider_mapping: {"/": "$folder/objects"}
http_authenticator: {accept_basic: true, accept_digest: false, default_to_digest: false}
simple_dc: {user_mapping: {"*": {"$accessKey": {password: "$secretKey"}}}}
dir_browser: {enable: false}
END
    launch wsgidav "$cache/wsgidav/bin/wsgidav" --config "$folder/wsgidav.yaml"
}
