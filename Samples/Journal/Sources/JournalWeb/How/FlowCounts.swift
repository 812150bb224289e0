import LFS

/// The numbers of files and bytes in the stages of LFS.
struct FlowCounts: Sendable {
    let staging: FileAmount
    let copies: FileAmount
    let queued: FileAmount
    let uploading: FileAmount
    let remote: FileAmount
    let freed: FileAmount
    let fetched: FileAmount

    init(_ store: StoreCounts, transfers: [FileID: FileTransfer], totals: FileHistory.Totals) {
        staging = store.staging
        copies = store.copies
        queued = store.queued
        remote = store.remote
        let uploads = transfers.values.filter { $0.direction == .upload }
        uploading = FileAmount(
            files: uploads.count, byteCount: uploads.reduce(0) { $0 &+ $1.progress.bytesTransferred })
        freed = store.remote.subtracting(store.copies.subtracting(store.unproven))
        fetched = totals.fetched
    }
}
