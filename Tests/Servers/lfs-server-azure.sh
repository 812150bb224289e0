# The project's own signing server before the stand-in for Azure, with a token of its own there: its signatures bind the
# bytes. See lfs-server.sh.
. "$servers/signer.sh"
. "$servers/azure.sh"
. "$servers/lfs-server.sh"
own=""

install_server() { find_lfs_server && need_python azure azure-storage-extensions==0.1.0 && need_signer; }

launch_server() {
    launch_azure || return
    store=$endpoint
    store_ports=$ports
    take_ports listen || return
    ports="$store_ports $listen"
    # The container is made with Microsoft's own library.
    # shellcheck disable=SC2016  # the inner shell's
    launch_lfs_server "azure://$account/lfs-server/objects?endpoint=$store" \
        env AZURE_TENANT_ID="$tenant" AZURE_CLIENT_ID="client-lfs-server" AZURE_CLIENT_SECRET="$clientSecret" \
        AZURE_AUTHORITY_HOST="$authority" sh -c '
            until "$0" -c "
import sys
from azure.storage.blob import ContainerClient
ContainerClient(sys.argv[1], \"lfs-server\", {\"account_name\": sys.argv[2], \"account_key\": sys.argv[3]},
                retry_total=0).create_container()" "$1" "$2" "$3"; do sleep 0.2; done
            shift 3
            exec "$@"' "$cache/signer/bin/python3" "$store" "$account" "$accountKey"
}
