public import ArgumentParser

/// The command `uploader`: attaches files to a database and offloads them.
public struct Uploader: AsyncParsableCommand {
    public static let configuration = CommandConfiguration(
        commandName: "uploader",
        abstract: "Attaches files to a SQLite database and offloads them to a storage in the background.",
        discussion: """
            EXAMPLES
              Offload a folder to another disk:
                uploader push --database photos.sqlite --to dir:/mnt/backup ~/Pictures
              Offload it to a bucket, with the keys that the AWS tools use:
                uploader push --database photos.sqlite --to s3://photos/mine ~/Pictures
              Back up folders every night, when the laptop is at home on its charger:
                uploader backup --database photos.sqlite --to s3://photos/mine \\
                  --groups include:~/Pictures,exclude:~/Pictures/Cache \\
                  --when unmetered,mains --delay 10m
              Go on after an interruption, or after the storage was away:
                uploader resume --database photos.sqlite --to dir:/mnt/backup
              Fetch everything on another machine:
                uploader pull --database photos.sqlite --to dir:/mnt/backup --all \\
                  --output ~/Restored
              Keep a copy of the database there as well, and bring it back elsewhere:
                uploader push --database photos.sqlite --to dir:/mnt/backup \\
                  --save-database ~/Pictures
                uploader recover --from dir:/mnt/backup --database photos.sqlite
              Keep what changes for a month, and bring back what was current then:
                uploader push --database photos.sqlite --keep-versions 30d ~/Pictures
                uploader pull --database photos.sqlite --as-of 2026-11-01 \\
                  --output ~/Restored Pictures/2019
              Check that records, local files and objects agree, and mend what does not:
                uploader verify --database photos.sqlite --to dir:/mnt/backup --repair
              Share them with other devices, which pull what is pushed here:
                uploader push --database photos.sqlite --to s3://photos/mine \\
                  --sync https://photos.example ~/Pictures
                uploader pull --database photos.sqlite --to s3://photos/mine \\
                  --sync https://photos.example --synced --output ~/Shared
              Free local copies of what is on the storage, but for 2 GiB:
                uploader free --database photos.sqlite --keep-bytes 2GiB

            STORAGE
              dir:PATH             a folder: a mounted share, another disk
              s3://bucket/prefix   a bucket of Amazon S3 or of a server like it;
                                   settings follow after a question mark, as in
                's3://bucket/prefix?endpoint=https://host&region=eu-west-1'
              azure://account/container/prefix
                                   a container of Azure Blob Storage
              webdav+https://host/path
                                   a folder on a WebDAV server; ?read-back=true
                                   compares every file after its upload
              signed+https://host/lfs
                                   a store behind a signing server, which alone has
                                   its keys

            Settings of a bucket are endpoint, region, addressing (automatic, path or
            virtual), profile, provider and storage-class. Keys, region and endpoint are
            also taken from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN,
            AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL_S3 and the files in ~/.aws. For a
            WebDAV server WEBDAV_USER and WEBDAV_PASSWORD are taken, or WEBDAV_TOKEN, and
            for a signing server LFS_TOKEN.

            Credentials go only to hosts that --to or --from has named: lfs/hosts in the
            folder of the user's configuration, ~/.config, lists them. The storage that a
            database remembers needs a host of the list, --trust-storage, or a yes at the
            terminal. With http no token and no password leaves this machine.

            Settings of a container are endpoint and access-tier. Of the credentials the
            first is taken: AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_KEY,
            AZURE_STORAGE_SAS_TOKEN; AZURE_TENANT_ID and AZURE_CLIENT_ID with
            AZURE_CLIENT_SECRET or AZURE_FEDERATED_TOKEN_FILE; a managed identity.

            Results go to the standard output, progress and messages to the standard
            error.

            EXIT STATUS
              0    everything that was asked for is done
              1    the command could not do its job
              3    some files failed, each is told; or nothing was accepted for as long as
                   --give-up-after says, or the storage refuses everything; or 'free'
                   freed less than it should
              5    'verify' found something that is left
              64   the command line is wrong
              130  interrupted by Ctrl-C, 143 by SIGTERM, 129 by the end of the
                   terminal; nothing is lost, and the same command goes on
            Take any other number for a failure.
            """,
        version: "0.1.0",
        subcommands: [
            PushCommand.self, BackupCommand.self, ResumeCommand.self, StatusCommand.self, ListCommand.self,
            PullCommand.self, RecoverCommand.self,
            RemoveCommand.self, SyncCommand.self, VerifyCommand.self, FreeCommand.self, PinCommand.self,
            UnpinCommand.self, SettingsCommand.self,
        ])

    public init() {}
}
