# The project's own signing server before SeaweedFS, whose keys are unknown to whoever asks it. See lfs-server.sh.
. "$servers/seaweedfs.sh"
. "$servers/lfs-server.sh"

install_server() { find_lfs_server && install_seaweedfs && need_packages curl; }

launch_server() {
    launch_seaweedfs || return
    store=$endpoint
    store_ports=$ports
    take_ports listen || return
    ports="$store_ports $listen"
    secureEndpoint=""
    certificate=""
    data=""
    # SeaweedFS takes some seconds until it takes a bucket; the tokens are made after its keys are handed over.
    # shellcheck disable=SC2016  # the inner shell's
    launch_lfs_server "s3://lfs-server/objects?endpoint=$store&region=$region&addressing=path&provider=seaweedfs" \
        env AWS_ACCESS_KEY_ID="$accessKey" AWS_SECRET_ACCESS_KEY="$secretKey" sh -c '
            until curl --silent --fail --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" --aws-sigv4 "aws:amz:$1:s3" \
                --header "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" \
                --request PUT "$0/lfs-server"; do sleep 0.2; done
            shift
            exec "$@"' "$store" "$region"
}
