# The signing server in Python before the stand-in for Azure, with the account's key. See signer.sh.
. "$servers/signer.sh"
. "$servers/azure.sh"
profile="signed"
own=""

install_server() { need_python azure azure-storage-extensions==0.1.0 && need_signer; }

launch_server() {
    launch_azure || return
    store=$endpoint
    store_ports=$ports
    take_ports signer || return
    ports="$store_ports $signer"
    endpoint="http://127.0.0.1:$signer/lfs"
    health=$endpoint
    launch signer env AZURE_STORAGE_ACCOUNT="$account" AZURE_STORAGE_KEY="$accountKey" \
        SIGNER_TOKENS="$secretKey=one,$accessKey=two" \
        "$cache/signer/bin/python3" "$servers/signer/signer.py" "$signer" azure --endpoint "$store" \
        --threshold 5242880 --part-size 5242880
}
