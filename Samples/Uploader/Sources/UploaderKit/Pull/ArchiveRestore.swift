import LFS
import LFSS3
import LFSStorage
import Synchronization

/// The restore of archived objects, which a pull requests if the user wants that.
///
/// The mutex owns the number of requests.
final class ArchiveRestore: Sendable {
    /// nil if the user does not want restores, or if the storage is not S3.
    private let storage: S3Storage?
    /// True if the storage supports restores.
    private let isOnS3: Bool
    private let days: Int
    private let tier: S3Storage.RestoreTier
    private let requests = Mutex(0)

    /// - Throws: ``UploaderError`` if restores are wanted and the storage is not S3.
    init(_ options: ArchiveOptions, storage: any RemoteStorage) throws {
        let s3 = storage as? S3Storage
        guard s3 != nil || !options.restoreArchived else {
            throw UploaderError("--restore-archived needs a storage on S3. Leave it out.")
        }
        self.storage = options.restoreArchived ? s3 : nil
        isOnS3 = s3 != nil
        days = options.restoreDays
        tier = options.restoreSpeed.tier
    }

    /// Returns true if a file cannot be read because its object is archived.
    static func isNeeded(for error: any Error) -> Bool {
        ((error as? LFSError)?.cause as? StorageError)?.code == .archived
    }

    /// Requests the restore of a file, if the user wants that.
    ///
    /// - Parameter error: the error for the archived object.
    /// - Returns: the reason why the file is not written now.
    func reason(for file: FileData, after error: any Error) async -> String {
        guard let storage else {
            let remedy = isOnS3 ? " 'pull --restore-archived' requests that." : ""
            return ErrorMessages.sentence(error) + remedy
        }
        do {
            let state = try await storage.restore(ObjectKey(file.key), days: days, tier: tier)
            requests.withLock { $0 += 1 }
            return switch state {
            case .requested: "it is archived, and its restore was requested"
            case .inProgress: "it is archived, and its restore is not complete yet"
            case .available: "it was restored a moment ago: pull it again"
            }
        } catch {
            return "it is archived, and its restore could not be requested: \(ErrorMessages.sentence(error))"
        }
    }

    /// The message at the end of a pull that has requested restores. nil without any.
    var summary: String? {
        let count = requests.withLock { $0 }
        guard count > 0 else { return nil }
        return
            "\(Format.count(count, noun: "file")) will be restored from the archive, which takes minutes to two days. "
            + "The same command writes them then."
    }
}
