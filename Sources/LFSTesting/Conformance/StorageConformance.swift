/// The checks that every remote storage passes: the rules in the doc comments of `RemoteStorage`, one by one.
///
/// They need no test framework. With swift-testing, one test runs them all:
///
/// ```swift
/// @Test(arguments: StorageConformance.checks)
/// func keepsTheContract(_ check: StorageCheck) async throws {
///     try await check.run(against: MyStorage(…))
/// }
/// ```
///
/// Every run works under a random key prefix of its own and removes what it stored, so the checks can run beside each
/// other and against a server that others use. They store up to 4 MiB at once.
public enum StorageConformance {
    /// Every check, each for one rule of the contract.
    public static let checks: [StorageCheck] =
        contentChecks + absenceChecks + replacingChecks + refusalChecks + rangeChecks + listingChecks
        + concurrencyChecks + cancellationChecks
}
