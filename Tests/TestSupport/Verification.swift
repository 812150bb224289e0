package import LFS

extension LFSManager {
    /// Verifies, and returns the report together with the reported findings.
    package func verified(
        _ configure: (inout VerifyOptions) -> Void
    ) async throws -> (report: VerifyReport, findings: [VerifyFinding]) {
        var options = VerifyOptions()
        configure(&options)
        let log = EventLog<VerifyFinding>()
        let report = try await verify(options) { log.add($0) }
        return (report, log.events)
    }
}
