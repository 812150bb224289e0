# Apache's mod_dav: the strict one. Files whose names come from a MOVE only, and a password.
profile="webdav"

install_server() { need_packages apache2-bin apache2-utils; }

launch_server() {
    take_ports http || return
    endpoint="http://127.0.0.1:$http/dav"
    health="http://127.0.0.1:$http/"
    modules=/usr/lib/apache2/modules
    mkdir -p "$folder/root/dav" "$folder/lock"
    data=$folder/root/dav
    htpasswd -bc "$folder/passwords" "$accessKey" "$secretKey" 2>"$folder/htpasswd.log" || return
    touch "$folder/types"
    user=""
    if [ "$(id -u)" = 0 ]; then
        user="User www-data
Group www-data"
        chmod 755 "$folder" "$(dirname "$folder")" && chown -R www-data "$folder" || return
    fi
    cat >"$folder/apache.conf" <<END
ServerRoot $folder
ServerName localhost
Listen 127.0.0.1:$http
PidFile $folder/apache.pid
ErrorLog $folder/error.log
$user
LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authn_core_module $modules/mod_authn_core.so
LoadModule authn_file_module $modules/mod_authn_file.so
LoadModule authz_core_module $modules/mod_authz_core.so
LoadModule authz_user_module $modules/mod_authz_user.so
LoadModule auth_basic_module $modules/mod_auth_basic.so
LoadModule dav_module $modules/mod_dav.so
LoadModule dav_fs_module $modules/mod_dav_fs.so
LoadModule mime_module $modules/mod_mime.so
TypesConfig $folder/types
DocumentRoot $folder/root
DAVLockDB $folder/lock/db
MaxKeepAliveRequests 0
LimitRequestBody 0
<Directory $folder/root>
  Require all granted
</Directory>
<Location /dav>
  Dav On
  AuthType Basic
  AuthName tests
  AuthUserFile $folder/passwords
  Require valid-user
</Location>
END
    launch apache /usr/sbin/apache2 -DFOREGROUND -f "$folder/apache.conf"
}
