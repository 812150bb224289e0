/// The conformance checks for remote storages. They verify the rules in the doc comments of `RemoteStorage`, one by
/// one.
///
/// The checks need no test framework. With swift-testing, one test runs them all:
///
/// ```swift
/// @Test(arguments: StorageConformance.checks)
/// func keepsTheContract(_ check: StorageCheck) async throws {
///     try await check.run(against: MyStorage(…))
/// }
/// ```
///
/// Every run uses a random key prefix and removes its objects. Therefore checks can run concurrently, and against a
/// server that others use. A check stores up to 4 MiB at once.
public enum StorageConformance {
    /// All checks, each for one rule of the contract.
    public static let checks: [StorageCheck] =
        contentChecks + absenceChecks + replacingChecks + refusalChecks + rangeChecks + listingChecks
        + concurrencyChecks + cancellationChecks
}
