import Flotilla

// What docs/library.md begins with; it is compiled, not run.
func move(_ patient: String, to ward: String) async throws {
  let replica = try await Replica.open("clinic.db")

  // Committed here when it returns; the verdict comes when the anchor is in reach.
  let receipt = try await replica.update(
    "patient", key: ["id": .text(patient)], set: ["ward": .text(ward)])
  print("here:", receipt.local[0].values ?? [])
  do {
    let verdict = try await receipt.verdict(within: .seconds(5))
    print("anchor:", verdict.verdict, verdict.reason ?? "", verdict.rule ?? "")
    print("stands:", try await receipt.standing()[0].values ?? [])
  } catch {
    guard error.code == .noAnchor else { throw error }
    print("nobody judges here: the newest edit stands")
  }

  // The rows here at once, and once more after contact with the anchor.
  for try await answer in try replica.query(
    "SELECT id FROM patient WHERE ward = ?", [.text(ward)])
  {
    print(answer.source, answer.report.rows)
  }
  await replica.close()
}
