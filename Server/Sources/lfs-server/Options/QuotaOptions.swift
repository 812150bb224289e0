import ArgumentParser
import CommandLineOptions
import LFSSyncServer

/// The storage that an account without limits of its own may use.
struct QuotaOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The maximum number of rows of an account.", valueName: "count"))
    var accountRows = AccountQuota().rows

    @Option(
        help: ArgumentHelp("The maximum bytes of an account's rows. The default is 1GiB.", valueName: "size"),
        transform: ByteSize.parse)
    var accountBytes: ByteSize?

    @Option(
        help: ArgumentHelp(
            "The maximum bytes of an account's files, as their rows declare them. The default is 1TiB.",
            valueName: "size"), transform: ByteSize.parse)
    var accountFileBytes: ByteSize?

    /// Indicates that at least one of the options is given.
    var isGiven: Bool { accountRows != AccountQuota().rows || accountBytes != nil || accountFileBytes != nil }

    var quota: AccountQuota {
        var quota = AccountQuota()
        quota.rows = accountRows
        if let accountBytes { quota.rowBytes = accountBytes.bytes }
        if let accountFileBytes { quota.fileBytes = accountFileBytes.bytes }
        return quota
    }

    func validate() throws {
        guard (1...AccountLimit.largestValue).contains(accountRows) else {
            throw ValidationError("--account-rows has to be from 1 to \(AccountLimit.largestValue).")
        }
        let sizes = [("--account-bytes", accountBytes), ("--account-file-bytes", accountFileBytes)]
        for (name, size) in sizes where size.map({ !(1...AccountLimit.largestValue).contains($0.bytes) }) ?? false {
            throw ValidationError("\(name) has to be from 1 byte to less than 8192TiB.")
        }
    }
}
