import ArgumentParser

struct RestoringTopic: HelpTopic {
    static let configuration = CommandConfiguration(
        commandName: "restoring",
        abstract: "What 'pull' and 'recover' restore, and how far to trust it.",
        discussion: """
            With --output, each pushed folder is written below this folder under its own
            name, as 'cp -r' does. A file that was pushed alone is written under its name.
            If two files would get the same path, their ids are put before their names.
            --in-place asks first, unless --yes is given. --synced also writes the files
            of other devices, which have no path here.

            Times, permissions, empty folders and symbolic links are restored. Owners and
            the setuid and setgid bits are not. Each file is checked against its size and
            SHA-256. An interrupted download continues with the missing bytes.

            If the storage is unreachable, files with a local copy are written, and the
            others are retried until --give-up-after. If it refuses the keys or does not
            exist, they are not retried. The storage may be read-only.

            A file that a rule of an S3 bucket has archived cannot be read. With
            --restore-archived its restore is requested, which takes minutes to two days.
            The command then ends with the status 3, and a later one writes the file.

            --as-of takes 2026-11-25 (the start of that day), '2026-11-25 18:40' or
            2026-11-25T18:40:00Z. Without Z or an offset, the time is local. Files that
            were added later are left out. The id of an old version, from 'list
            --versions', writes this version to the place of its file.

            'recover' needs a copy of the database, which 'push --save-database' saves.
            The storage has the last three copies of each machine. A copy is a SQLite
            database compressed with gzip. It carries an authentication code (HMAC-SHA-256)
            with a key from the passphrase in LFS_RECOVERY_PASSPHRASE. Set it for each
            command that saves copies, and store it away from the machine. After a copy
            with a code, a push without the passphrase uploads the files, saves no copy
            and ends with the status 3.

            --unauthenticated accepts a copy without this check. Anyone who can write to
            the storage could have made such a copy: look at 'list' before 'pull', and pull
            into an empty folder. The code does not show whether the storage withholds
            newer copies. Files that were pushed after the copy was made are not in it. Do
            not push into the recovered database if the lost one may come back.
            """,
        shouldDisplay: false)
}
