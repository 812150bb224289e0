import LFSBackup

/// The files and folders on the command line, as groups.
struct PushedPaths: Sendable {
    /// The paths with their exact bytes.
    let all: [FilePath]
    let groups: [BackupGroup]
    /// The exact paths of groups whose ids cannot represent them.
    let names: [BackupGroup.ID: AssetName]

    init(_ texts: [String]) {
        all = FilePath.arguments(texts)
        // A path that is not valid text has its printed form as id, which is unique.
        let ids = all.map { $0.text ?? $0.description }
        groups = ids.map { BackupGroup($0, mode: .include) }
        names = Dictionary(
            zip(ids, all).filter { $1.text == nil }.map { ($0, AssetName(bytes: $1.bytes)) }, uniquingKeysWith: { $1 })
    }
}
