import ArgumentParser

struct SavingTopic: HelpTopic {
    static let configuration = CommandConfiguration(
        commandName: "saving",
        abstract: "What 'push' and 'backup' save, and where.",
        discussion: """
            Content, names, times, permissions, empty folders and symbolic links are kept.
            Owners, hard links and extended attributes are not. Links in folders are not
            followed. Objects have ids as names. A bucket also stores the name of each
            file, without its folder. The holes of a sparse file are uploaded and stored
            as zeros, and a pull makes holes of them again.

            Files are uploaded from their places. If a file changes or disappears before
            its upload, the next push uploads its new form, and the old one is lost. With
            --copy, each file is copied into the folder DATABASE.lfs first, and its bytes
            are uploaded whatever happens to the original. --free-uploaded frees copies
            whose upload is confirmed.

            --move makes copies too. Once an upload is confirmed, it removes the original
            and the copy, without a question. An original stays if it has changed or is
            being written. A file that changes while it is read fails. --allow-changing,
            such as for logs, copies it up to its size when opened.

            --save-database keeps a copy of the database on the storage after each run
            that changes it. The copy contains the file names in plain text. If
            LFS_RECOVERY_PASSPHRASE was set for one copy, it must be set for all later
            ones, see 'uploader help restoring'. --keep-versions keeps the old versions of
            changed files for a time such as 30d, or forever. 'none' keeps an old version
            only until the new one is on the storage. The database remembers both choices.

            With --watch, the push continues until it is interrupted. It takes files that
            are closed after writing or moved into the folders, once they have not changed
            for --settle, 5s by default. --give-up-after then reports pending files
            instead of ending the run. The system does not report changes by other
            machines on a network mount, or writes to memory-mapped files. --rescan finds
            those: it sets how often all folders are walked, by default 15m if not all can
            be watched, and otherwise never.
            """,
        shouldDisplay: false)
}
