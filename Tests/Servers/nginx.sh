# nginx with its own WebDAV and the extension for PROPFIND. It lists no more than one level.
profile="webdav"

install_server() { need_packages nginx-light libnginx-mod-http-dav-ext openssl; }

launch_server() {
    take_ports http || return
    endpoint="http://127.0.0.1:$http/dav"
    health="http://127.0.0.1:$http/"
    mkdir -p "$folder/root/dav" "$folder/temporary"
    data=$folder/root/dav
    printf '%s:%s\n' "$accessKey" "$(openssl passwd -apr1 "$secretKey")" >"$folder/passwords"
    user=""
    [ "$(id -u)" != 0 ] || user="user root;"
    cat >"$folder/nginx.conf" <<END
load_module /usr/lib/nginx/modules/ngx_http_dav_ext_module.so;
daemon off; pid $folder/nginx.pid; error_log $folder/error.log warn; $user
events { worker_connections 1024; }
http {
  access_log off; client_max_body_size 0; keepalive_requests 100000; sendfile on;
  client_body_temp_path $folder/temporary/body; proxy_temp_path $folder/temporary/proxy;
  fastcgi_temp_path $folder/temporary/fastcgi; uwsgi_temp_path $folder/temporary/uwsgi;
  scgi_temp_path $folder/temporary/scgi;
  server {
    listen 127.0.0.1:$http; root $folder/root;
    location / { return 404; }
    location /dav/ {
      auth_basic tests; auth_basic_user_file $folder/passwords;
      dav_methods PUT DELETE MKCOL COPY MOVE; dav_ext_methods PROPFIND OPTIONS; create_full_put_path off;
    }
  }
}
END
    launch nginx /usr/sbin/nginx -e "$folder/error.log" -c "$folder/nginx.conf"
}
