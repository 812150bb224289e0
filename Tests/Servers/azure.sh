# A stand-in for Azure's blob service, in the folder of that name: no emulator of the service can be installed.
profile="azure"
own="account accountKey authority tenant clientSecret federatedTokenFile"
# The account of Azure's emulators, whose key everybody knows: rclone's older versions have no other on loopback.
account="devstoreaccount1"
accountKey="Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
clientSecret="only-for-tests-on-loopback"
federatedToken="a-token-of-another-authority"
tenant="11111111-2222-3333-4444-555555555555"

# Microsoft's own module for CRC-64, so that no checksum is compared with our own arithmetic.
install_server() { need_python azure azure-storage-extensions==0.1.0; }

launch_server() { launch_azure; }
launch_azure() {
    take_ports http || return
    endpoint="http://127.0.0.1:$http/$account"
    authority="http://127.0.0.1:$http/oauth"
    health="http://127.0.0.1:$http/"
    mkdir -p "$folder/bytes"
    printf %s "$federatedToken" >"$folder/federated-token"
    federatedTokenFile=$folder/federated-token
    launch azure "$cache/azure/bin/python" "$servers/azure/server" "$http" "$folder/bytes" "$account" "$accountKey" \
        "$clientSecret" "$federatedToken"
}
