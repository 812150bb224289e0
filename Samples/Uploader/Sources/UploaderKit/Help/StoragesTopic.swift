import ArgumentParser

struct StoragesTopic: HelpTopic {
    static let configuration = CommandConfiguration(
        commandName: "storages",
        abstract: "The storages of --to and --from.",
        discussion: """
            dir:PATH             a folder, such as a mounted share or another disk
            s3://bucket/prefix   a bucket of Amazon S3 or of a compatible server, with
                                 settings after a question mark:
              's3://bucket/prefix?endpoint=https://host&region=eu-west-1'
            gs://bucket/prefix   a bucket of Google Cloud Storage
            azure://account/container/prefix
                                 a container of Azure Blob Storage
            webdav+https://host/path
                                 a folder on a WebDAV server; with ?read-back=true each
                                 file is compared after its upload
            signed+https://host/lfs
                                 a storage behind a signing server, which has the keys

            Settings of a bucket are endpoint, region, addressing (automatic, path or
            virtual), profile, provider and storage-class. Settings of a container are
            endpoint and access-tier. 'uploader help environment' lists the variables with
            the credentials.

            The database remembers its storage. Another one needs --change-storage, and
            'verify --repair' afterwards. If it is empty, add --accept-empty to 'verify'.
            """,
        shouldDisplay: false)
}
