# A signing server in Python before SeaweedFS: the keys of the one are unknown to whoever asks the other. The second token
# is of another user, who may touch nothing of the first one's. Parts have 5 MiB, the least that the store takes.
. "$servers/seaweedfs.sh"
profile="signed"

install_server() { install_seaweedfs && need_signer; }
need_signer() { need_python signer boto3==1.44.5 azure-storage-blob==12.31.1; }

launch_server() {
    launch_seaweedfs || return
    store=$endpoint
    store_ports=$ports
    take_ports signer || return
    ports="$store_ports $signer"
    endpoint="http://127.0.0.1:$signer/lfs"
    health=$endpoint
    secureEndpoint=""
    certificate=""
    data=""
    launch signer env AWS_ACCESS_KEY_ID="$accessKey" AWS_SECRET_ACCESS_KEY="$secretKey" \
        AWS_DEFAULT_REGION="$region" \
        SIGNER_TOKENS="$secretKey=one,$accessKey=two" \
        "$cache/signer/bin/python3" "$servers/signer/signer.py" "$signer" s3 --endpoint "$store" --threshold 5242880 \
        --part-size 5242880
}
