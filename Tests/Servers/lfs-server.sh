# The project's own signing server, on a folder: the bytes go through it as well. The second token is of another user.
# It is not built here: `swift build --package-path Server --build-tests` is the way, which `run-tests` goes as well.
profile="signed"

install_server() { find_lfs_server; }
find_lfs_server() {
    lfs_server=${LFS_SERVER:-$(swift build --package-path "$checkout/Server" --show-bin-path)/lfs-server} || return
    [ -x "$lfs_server" ] || {
        say "There is no $lfs_server: build it first, with: swift build --package-path Server"
        return 1
    }
}

launch_server() {
    take_ports listen || return
    launch_lfs_server "dir:$folder/objects"
}

# launch_lfs_server STORAGE [COMMAND...]: on the port $listen, once the command has succeeded.
launch_lfs_server() {
    storage=$1
    shift
    endpoint="http://127.0.0.1:$listen/lfs"
    health=$endpoint
    tokens=$folder/tokens
    secretKey=$("$lfs_server" token add --tokens "$tokens" --account one) || return
    accessKey=$("$lfs_server" token add --tokens "$tokens" --account two) || return
    launch lfs-server "$@" "$lfs_server" serve --listen "127.0.0.1:$listen" --storage "$storage" --tokens "$tokens"
}
