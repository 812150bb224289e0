import LFSBackup

/// The files and folders of the command line, as groups.
struct PushedPaths: Sendable {
    /// With their exact bytes.
    let all: [FilePath]
    let groups: [BackupGroup]
    /// The paths of groups whose ids cannot say them.
    let names: [BackupGroup.ID: AssetName]

    init(_ texts: [String]) {
        all = FilePath.arguments(texts)
        // What is no text has its printed form as id, which is another one for each.
        let ids = all.map { $0.text ?? $0.description }
        groups = ids.map { BackupGroup($0, .include) }
        names = Dictionary(
            zip(ids, all).filter { $1.text == nil }.map { ($0, AssetName(bytes: $1.bytes)) }, uniquingKeysWith: { $1 })
    }
}
