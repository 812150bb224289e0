import ArgumentParser

struct EnvironmentTopic: HelpTopic {
    static let configuration = CommandConfiguration(
        commandName: "environment",
        abstract: "Environment variables, the configuration file, and where credentials are sent.",
        discussion: """
            Each option has a variable: UPLOADER_ and its name in capitals, with _ for -.
            UPLOADER_DATABASE is --database. A flag takes true or false. Options can also
            be in the YAML file ~/.config/lfs/uploader.yaml, or the one that
            UPLOADER_CONFIG names. Only you and root may be able to change it:

              database: /home/me/photos.sqlite
              keep-versions: 30d
              exclude: ["*.tmp", "cache/"]

            The command line takes precedence over variables, and variables take
            precedence over the file. Each value applies to all commands that have the
            option. 'uploader config show' lists the values.

            Credentials and networks have these variables:

            S3       AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN,
                     AWS_PROFILE, AWS_REGION, AWS_ENDPOINT_URL_S3, and the files in
                     ~/.aws
            Azure    the first of AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_KEY,
                     AZURE_STORAGE_SAS_TOKEN; AZURE_TENANT_ID and AZURE_CLIENT_ID with
                     AZURE_CLIENT_SECRET or AZURE_FEDERATED_TOKEN_FILE; a managed
                     identity
            WebDAV   WEBDAV_USER and WEBDAV_PASSWORD, or WEBDAV_TOKEN
            signed   LFS_TOKEN
            sync     LFS_SYNC_TOKEN, for --sync
            copies   LFS_RECOVERY_PASSPHRASE, for --save-database and 'recover'
            proxies  https_proxy, http_proxy, all_proxy, no_proxy
            TLS      CURL_CA_BUNDLE or SSL_CERT_FILE, the certificate authorities

            Credentials are sent only to hosts that --to, --from, --sync or 'settings set'
            has named. The file ~/.config/lfs/hosts lists them. A storage or sync server
            that only the database names needs a host in this list, --trust-storage, or a
            yes at the terminal. Tokens and passwords are never sent over http to another
            machine.
            """,
        shouldDisplay: false)
}
