/** Stored bytes of one job at each version, and of one that needs its remainder, as release 0.1.0 writes them: what a program reads before it touches a store. Never edited; a new version adds one. */

/** The job in the hub version, as canonical JSON. */
const hub =
  '{"apiVersion":"mlops.dev/v1","kind":"NotebookValidationJob","metadata":{"creationTimestamp":"2026-01-01T00:00:00Z","generation":1,"labels":{' +
  '"team":"ml"},"name":"sample","namespace":"default","uid":"6f1c1d6e-0000-4000-8000-000000000000"},"spec":{"activeDeadlineSeconds":3600,"backo' +
  'ffLimit":2,"comparison":{"cellMatching":"Auto","ignore":{"cellTags":["nbval-ignore-output"]},"images":"Ignore","mode":"Normalized","normaliz' +
  'ers":["StripANSI","CarriageReturns","TrailingWhitespace","Timestamps","MemoryAddresses","UUIDs","ProgressBars"],"scope":"AllCells","sourceDr' +
  'ift":"Warn","tolerance":{"absolute":"1e-8","relative":"1e-5"}},"execution":{"errorPolicy":"FailFast","expectedErrors":"Required","startupTim' +
  'eoutSeconds":60,"workingDirectory":"NotebookDirectory"},"imagePullTimeoutSeconds":300,"notebook":{"git":{"depth":1,"lfs":"None","revision":"' +
  'main","submodules":"None","url":"https://git.example/ml/nb.git"},"path":"a/train.ipynb"},"podTemplate":{"automountServiceAccountToken":false' +
  ',"image":"quay.io/jupyter/datascience-notebook:latest","resources":{"limits":{"cpu":"1","memory":"4Gi"},"requests":{"cpu":"500m","memory":"2' +
  'Gi"}},"serviceAccountName":"default"},"results":{"maxOutputBytes":2048,"outputPolicy":"All"},"suspend":false}}'

/** A job with much that v1alpha1 cannot show. */
const hidden =
  '{"apiVersion":"mlops.dev/v1","kind":"NotebookValidationJob","metadata":{"creationTimestamp":"2026-01-01T00:00:00Z","generation":3,"labels":' +
  '{"team":"ml"},"name":"hidden","namespace":"default","uid":"6f1c1d6e-0000-4000-8000-000000000000"},"spec":{"activeDeadlineSeconds":3600,"bac' +
  'koffLimit":5,"comparison":{"cellMatching":"Auto","ignore":{"cellTags":["nbval-ignore-output"]},"images":"Ignore","mode":"Exact","normalizer' +
  's":["StripANSI","CarriageReturns","TrailingWhitespace","Timestamps","MemoryAddresses","UUIDs","ProgressBars"],"scope":"AllCells","sourceDri' +
  'ft":"Warn","tolerance":{"absolute":"1e-3","relative":"1e-2"}},"execution":{"cellTimeoutSeconds":90,"errorPolicy":"FailFast","expectedErrors' +
  '":"Required","kernelName":"python3","startupTimeoutSeconds":60,"workingDirectory":"NotebookDirectory"},"golden":{"path":"a/train.golden.ipy' +
  'nb"},"imagePullTimeoutSeconds":300,"notebook":{"git":{"depth":1,"lfs":"None","revision":"main","submodules":"None","url":"https://git.examp' +
  'le/ml/nb.git"},"path":"a/train.ipynb"},"podTemplate":{"automountServiceAccountToken":false,"env":[{"name":"A","value":"b"}],"image":"quay.i' +
  'o/jupyter/datascience-notebook:latest","resources":{"limits":{"cpu":"2","nvidia.com/gpu":"1"},"requests":{"memory":"3Gi"}},"serviceAccountN' +
  'ame":"default"},"results":{"maxOutputBytes":2048,"outputPolicy":"All"},"suspend":true},"status":{"attempts":2,"cells":[{"index":0,"outcome"' +
  ':"Skipped","type":"code"},{"comparison":{"outcome":"Mismatched"},"durationMilliseconds":12,"id":"b","index":1,"outcome":"Succeeded","output' +
  '":{"bytes":1,"text":"2","truncated":false},"type":"code"}],"conditions":[{"lastTransitionTime":"2026-01-01T00:01:00Z","message":"cell 1 dif' +
  'fers","observedGeneration":3,"reason":"OutputMismatch","status":"False","type":"Succeeded"}],"observedGeneration":3,"phase":"Failed","reaso' +
  'n":"OutputMismatch"}}'

/** Stored values in Base64, each with the job that it is. */
export const storedSamples: readonly { readonly value: string; readonly hub: string }[] = [
  // v1alpha1
  {
    value:
      'jmVudgEIAABOaod0i7oFHQnqgDVAc/14OAIAAOkCAADFAAAAV2n7HHYxYWxwaGExeyJhcGlWZXJzaW9uIjoibWxvcHMuZGV2L3YxYWxwaGExIiwia2luZCI6Ik5vdGVib29rVmFsaWRh' +
      'dGlvbkpvYiIsIm1ldGFkYXRhIjp7ImNyZWF0aW9uVGltZXN0YW1wIjoiMjAyNi0wMS0wMVQwMDowMDowMFoiLCJnZW5lcmF0aW9uIjoxLCJsYWJlbHMiOnsidGVhbSI6Im1sIn0sIm5h' +
      'bWUiOiJzYW1wbGUiLCJuYW1lc3BhY2UiOiJkZWZhdWx0IiwidWlkIjoiNmYxYzFkNmUtMDAwMC00MDAwLTgwMDAtMDAwMDAwMDAwMDAwIn0sInNwZWMiOnsibm90ZWJvb2siOnsiZ2l0' +
      'Ijp7InBhdGgiOiJhL3RyYWluLmlweW5iIiwicmVmIjoibWFpbiIsInVybCI6Imh0dHBzOi8vZ2l0LmV4YW1wbGUvbWwvbmIuZ2l0In19LCJwb2RDb25maWciOnsiY29udGFpbmVySW1h' +
      'Z2UiOiJxdWF5LmlvL2p1cHl0ZXIvZGF0YXNjaWVuY2Utbm90ZWJvb2s6bGF0ZXN0IiwicmVzb3VyY2VzIjp7ImxpbWl0cyI6eyJjcHUiOiIxIiwibWVtb3J5IjoiNEdpIn0sInJlcXVl' +
      'c3RzIjp7ImNwdSI6IjUwMG0iLCJtZW1vcnkiOiIyR2kifX0sInNlcnZpY2VBY2NvdW50TmFtZSI6ImRlZmF1bHQifSwidGltZW91dFNlY29uZHMiOjM2MDB9fXsidjFhbHBoYTEiOnsi' +
      'c3BlYyI6eyJjb21wYXJpc29uQ29uZmlnIjp7ImNlbGxNYXRjaGluZyI6IkF1dG8iLCJmbG9hdGluZ1BvaW50VG9sZXJhbmNlIjoiMWUtOCIsImlnbm9yZUNlbGxUYWdzIjpbIm5idmFs' +
      'LWlnbm9yZS1vdXRwdXQiXSwiaW1hZ2VzIjoiSWdub3JlIiwibm9ybWFsaXplcnMiOlsiU3RyaXBBTlNJIiwiQ2FycmlhZ2VSZXR1cm5zIiwiVHJhaWxpbmdXaGl0ZXNwYWNlIiwiVGlt' +
      'ZXN0YW1wcyIsIk1lbW9yeUFkZHJlc3NlcyIsIlVVSURzIiwiUHJvZ3Jlc3NCYXJzIl0sInJlbGF0aXZlVG9sZXJhbmNlIjoiMWUtNSIsInNjb3BlIjoiQWxsQ2VsbHMiLCJzb3VyY2VE' +
      'cmlmdCI6Ildhcm4iLCJzdHJhdGVneSI6Ik5vcm1hbGl6ZWQifSwiZXJyb3JQb2xpY3kiOiJGYWlsRmFzdCIsImV4cGVjdGVkRXJyb3JzIjoiUmVxdWlyZWQiLCJnb2xkZW4iOnsiZ2l0' +
      'IjoiYWJzZW50In0sImltYWdlUHVsbFRpbWVvdXRTZWNvbmRzIjozMDAsIm1heFJldHJpZXMiOjIsIm5vdGVib29rIjp7ImdpdCI6eyJkZXB0aCI6MSwibGZzIjoiTm9uZSIsInN1Ym1v' +
      'ZHVsZXMiOiJOb25lIn19LCJwb2RDb25maWciOnsiYXV0b21vdW50U2VydmljZUFjY291bnRUb2tlbiI6ZmFsc2V9LCJyZXN1bHRzIjp7Im1heE91dHB1dEJ5dGVzIjoyMDQ4LCJvdXRw' +
      'dXRQb2xpY3kiOiJBbGwifSwic3RhcnR1cFRpbWVvdXRTZWNvbmRzIjo2MCwic3VzcGVuZCI6ZmFsc2UsIndvcmtpbmdEaXJlY3RvcnkiOiJOb3RlYm9va0RpcmVjdG9yeSJ9fX0=',
    hub,
  },
  // v1beta1
  {
    value:
      'jmVudgEHAAB6qzuABV3YZeGXDMvrdgtswwQAAAAAAADEAAAAn2Q2ZHYxYmV0YTF7ImFwaVZlcnNpb24iOiJtbG9wcy5kZXYvdjFiZXRhMSIsImtpbmQiOiJOb3RlYm9va1ZhbGlkYXRp' +
      'b25Kb2IiLCJtZXRhZGF0YSI6eyJjcmVhdGlvblRpbWVzdGFtcCI6IjIwMjYtMDEtMDFUMDA6MDA6MDBaIiwiZ2VuZXJhdGlvbiI6MSwibGFiZWxzIjp7InRlYW0iOiJtbCJ9LCJuYW1l' +
      'Ijoic2FtcGxlIiwibmFtZXNwYWNlIjoiZGVmYXVsdCIsInVpZCI6IjZmMWMxZDZlLTAwMDAtNDAwMC04MDAwLTAwMDAwMDAwMDAwMCJ9LCJzcGVjIjp7ImNvbXBhcmlzb25Db25maWci' +
      'OnsiY2VsbE1hdGNoaW5nIjoiQXV0byIsImZsb2F0aW5nUG9pbnRUb2xlcmFuY2UiOiIxZS04IiwiaWdub3JlQ2VsbFRhZ3MiOlsibmJ2YWwtaWdub3JlLW91dHB1dCJdLCJpbWFnZXMi' +
      'OiJJZ25vcmUiLCJub3JtYWxpemVycyI6WyJTdHJpcEFOU0kiLCJDYXJyaWFnZVJldHVybnMiLCJUcmFpbGluZ1doaXRlc3BhY2UiLCJUaW1lc3RhbXBzIiwiTWVtb3J5QWRkcmVzc2Vz' +
      'IiwiVVVJRHMiLCJQcm9ncmVzc0JhcnMiXSwicmVsYXRpdmVUb2xlcmFuY2UiOiIxZS01Iiwic2NvcGUiOiJBbGxDZWxscyIsInNvdXJjZURyaWZ0IjoiV2FybiIsInN0cmF0ZWd5Ijoi' +
      'Tm9ybWFsaXplZCJ9LCJlcnJvclBvbGljeSI6IkZhaWxGYXN0IiwiZXhwZWN0ZWRFcnJvcnMiOiJSZXF1aXJlZCIsImltYWdlUHVsbFRpbWVvdXRTZWNvbmRzIjozMDAsIm1heFJldHJp' +
      'ZXMiOjIsIm5vdGVib29rIjp7ImdpdCI6eyJkZXB0aCI6MSwibGZzIjoiTm9uZSIsInJlZiI6Im1haW4iLCJzdWJtb2R1bGVzIjoiTm9uZSIsInVybCI6Imh0dHBzOi8vZ2l0LmV4YW1w' +
      'bGUvbWwvbmIuZ2l0In0sInBhdGgiOiJhL3RyYWluLmlweW5iIn0sInBvZENvbmZpZyI6eyJhdXRvbW91bnRTZXJ2aWNlQWNjb3VudFRva2VuIjpmYWxzZSwiaW1hZ2UiOiJxdWF5Lmlv' +
      'L2p1cHl0ZXIvZGF0YXNjaWVuY2Utbm90ZWJvb2s6bGF0ZXN0IiwicmVzb3VyY2VzIjp7ImxpbWl0cyI6eyJjcHUiOiIxIiwibWVtb3J5IjoiNEdpIn0sInJlcXVlc3RzIjp7ImNwdSI6' +
      'IjUwMG0iLCJtZW1vcnkiOiIyR2kifX0sInNlcnZpY2VBY2NvdW50TmFtZSI6ImRlZmF1bHQifSwicmVzdWx0cyI6eyJtYXhPdXRwdXRCeXRlcyI6MjA0OCwib3V0cHV0UG9saWN5Ijoi' +
      'QWxsIn0sInN0YXJ0dXBUaW1lb3V0U2Vjb25kcyI6NjAsInN1c3BlbmQiOmZhbHNlLCJ0aW1lb3V0U2Vjb25kcyI6MzYwMCwid29ya2luZ0RpcmVjdG9yeSI6Ik5vdGVib29rRGlyZWN0' +
      'b3J5In19',
    hub,
  },
  // v1
  {
    value:
      'jmVudgECAADnTC8ByJcU8XnAvS6E6bsozgQAAAAAAAC/AAAA8AxuZHYxeyJhcGlWZXJzaW9uIjoibWxvcHMuZGV2L3YxIiwia2luZCI6Ik5vdGVib29rVmFsaWRhdGlvbkpvYiIsIm1l' +
      'dGFkYXRhIjp7ImNyZWF0aW9uVGltZXN0YW1wIjoiMjAyNi0wMS0wMVQwMDowMDowMFoiLCJnZW5lcmF0aW9uIjoxLCJsYWJlbHMiOnsidGVhbSI6Im1sIn0sIm5hbWUiOiJzYW1wbGUi' +
      'LCJuYW1lc3BhY2UiOiJkZWZhdWx0IiwidWlkIjoiNmYxYzFkNmUtMDAwMC00MDAwLTgwMDAtMDAwMDAwMDAwMDAwIn0sInNwZWMiOnsiYWN0aXZlRGVhZGxpbmVTZWNvbmRzIjozNjAw' +
      'LCJiYWNrb2ZmTGltaXQiOjIsImNvbXBhcmlzb24iOnsiY2VsbE1hdGNoaW5nIjoiQXV0byIsImlnbm9yZSI6eyJjZWxsVGFncyI6WyJuYnZhbC1pZ25vcmUtb3V0cHV0Il19LCJpbWFn' +
      'ZXMiOiJJZ25vcmUiLCJtb2RlIjoiTm9ybWFsaXplZCIsIm5vcm1hbGl6ZXJzIjpbIlN0cmlwQU5TSSIsIkNhcnJpYWdlUmV0dXJucyIsIlRyYWlsaW5nV2hpdGVzcGFjZSIsIlRpbWVz' +
      'dGFtcHMiLCJNZW1vcnlBZGRyZXNzZXMiLCJVVUlEcyIsIlByb2dyZXNzQmFycyJdLCJzY29wZSI6IkFsbENlbGxzIiwic291cmNlRHJpZnQiOiJXYXJuIiwidG9sZXJhbmNlIjp7ImFi' +
      'c29sdXRlIjoiMWUtOCIsInJlbGF0aXZlIjoiMWUtNSJ9fSwiZXhlY3V0aW9uIjp7ImVycm9yUG9saWN5IjoiRmFpbEZhc3QiLCJleHBlY3RlZEVycm9ycyI6IlJlcXVpcmVkIiwic3Rh' +
      'cnR1cFRpbWVvdXRTZWNvbmRzIjo2MCwid29ya2luZ0RpcmVjdG9yeSI6Ik5vdGVib29rRGlyZWN0b3J5In0sImltYWdlUHVsbFRpbWVvdXRTZWNvbmRzIjozMDAsIm5vdGVib29rIjp7' +
      'ImdpdCI6eyJkZXB0aCI6MSwibGZzIjoiTm9uZSIsInJldmlzaW9uIjoibWFpbiIsInN1Ym1vZHVsZXMiOiJOb25lIiwidXJsIjoiaHR0cHM6Ly9naXQuZXhhbXBsZS9tbC9uYi5naXQi' +
      'fSwicGF0aCI6ImEvdHJhaW4uaXB5bmIifSwicG9kVGVtcGxhdGUiOnsiYXV0b21vdW50U2VydmljZUFjY291bnRUb2tlbiI6ZmFsc2UsImltYWdlIjoicXVheS5pby9qdXB5dGVyL2Rh' +
      'dGFzY2llbmNlLW5vdGVib29rOmxhdGVzdCIsInJlc291cmNlcyI6eyJsaW1pdHMiOnsiY3B1IjoiMSIsIm1lbW9yeSI6IjRHaSJ9LCJyZXF1ZXN0cyI6eyJjcHUiOiI1MDBtIiwibWVt' +
      'b3J5IjoiMkdpIn19LCJzZXJ2aWNlQWNjb3VudE5hbWUiOiJkZWZhdWx0In0sInJlc3VsdHMiOnsibWF4T3V0cHV0Qnl0ZXMiOjIwNDgsIm91dHB1dFBvbGljeSI6IkFsbCJ9LCJzdXNw' +
      'ZW5kIjpmYWxzZX19',
    hub,
  },
  // v1alpha1 with its remainder
  {
    value:
      'jmVudgEIAABOaod0i7oFHQnqgDVAc/14rQMAAGsFAADFAAAAZB5/iHYxYWxwaGExeyJhcGlWZXJzaW9uIjoibWxvcHMuZGV2L3YxYWxwaGExIiwia2luZCI6Ik5vdGVib29rVmFsaWRh' +
      'dGlvbkpvYiIsIm1ldGFkYXRhIjp7ImNyZWF0aW9uVGltZXN0YW1wIjoiMjAyNi0wMS0wMVQwMDowMDowMFoiLCJnZW5lcmF0aW9uIjozLCJsYWJlbHMiOnsidGVhbSI6Im1sIn0sIm5h' +
      'bWUiOiJoaWRkZW4iLCJuYW1lc3BhY2UiOiJkZWZhdWx0IiwidWlkIjoiNmYxYzFkNmUtMDAwMC00MDAwLTgwMDAtMDAwMDAwMDAwMDAwIn0sInNwZWMiOnsibm90ZWJvb2siOnsiZ2l0' +
      'Ijp7InBhdGgiOiJhL3RyYWluLmlweW5iIiwicmVmIjoibWFpbiIsInVybCI6Imh0dHBzOi8vZ2l0LmV4YW1wbGUvbWwvbmIuZ2l0In0sImdvbGRlbiI6eyJnaXQiOnsicGF0aCI6ImEv' +
      'dHJhaW4uZ29sZGVuLmlweW5iIiwicmVmIjoibWFpbiIsInVybCI6Imh0dHBzOi8vZ2l0LmV4YW1wbGUvbWwvbmIuZ2l0In19fSwicG9kQ29uZmlnIjp7ImNvbnRhaW5lckltYWdlIjoi' +
      'cXVheS5pby9qdXB5dGVyL2RhdGFzY2llbmNlLW5vdGVib29rOmxhdGVzdCIsInJlc291cmNlcyI6eyJsaW1pdHMiOnsiY3B1IjoiMiIsIm1lbW9yeSI6IjRHaSJ9LCJyZXF1ZXN0cyI6' +
      'eyJjcHUiOiI1MDBtIiwibWVtb3J5IjoiM0dpIn19LCJzZXJ2aWNlQWNjb3VudE5hbWUiOiJkZWZhdWx0In0sInRpbWVvdXRTZWNvbmRzIjozNjAwfSwic3RhdHVzIjp7ImNvbmRpdGlv' +
      'bnMiOlt7Imxhc3RUcmFuc2l0aW9uVGltZSI6IjIwMjYtMDEtMDFUMDA6MDE6MDBaIiwibWVzc2FnZSI6ImNlbGwgMSBkaWZmZXJzIiwicmVhc29uIjoiT3V0cHV0TWlzbWF0Y2giLCJz' +
      'dGF0dXMiOiJGYWxzZSIsInR5cGUiOiJTdWNjZWVkZWQifV0sInBoYXNlIjoiRmFpbGVkIiwicmVzdWx0cyI6W3siY2VsbEluZGV4IjowLCJzdGF0dXMiOiJTdWNjZXNzIn0seyJjZWxs' +
      'SW5kZXgiOjEsIm91dHB1dCI6IjIiLCJzdGF0dXMiOiJGYWlsdXJlIn1dfX17InYxYWxwaGExIjp7InNwZWMiOnsiY2VsbFRpbWVvdXRTZWNvbmRzIjo5MCwiY29tcGFyaXNvbkNvbmZp' +
      'ZyI6eyJjZWxsTWF0Y2hpbmciOiJBdXRvIiwiZmxvYXRpbmdQb2ludFRvbGVyYW5jZSI6IjFlLTMiLCJpZ25vcmVDZWxsVGFncyI6WyJuYnZhbC1pZ25vcmUtb3V0cHV0Il0sImltYWdl' +
      'cyI6Iklnbm9yZSIsIm5vcm1hbGl6ZXJzIjpbIlN0cmlwQU5TSSIsIkNhcnJpYWdlUmV0dXJucyIsIlRyYWlsaW5nV2hpdGVzcGFjZSIsIlRpbWVzdGFtcHMiLCJNZW1vcnlBZGRyZXNz' +
      'ZXMiLCJVVUlEcyIsIlByb2dyZXNzQmFycyJdLCJyZWxhdGl2ZVRvbGVyYW5jZSI6IjFlLTIiLCJzY29wZSI6IkFsbENlbGxzIiwic291cmNlRHJpZnQiOiJXYXJuIiwic3RyYXRlZ3ki' +
      'OiJFeGFjdCJ9LCJlcnJvclBvbGljeSI6IkZhaWxGYXN0IiwiZXhwZWN0ZWRFcnJvcnMiOiJSZXF1aXJlZCIsImdvbGRlbiI6eyJnaXQiOiJhYnNlbnQifSwiaW1hZ2VQdWxsVGltZW91' +
      'dFNlY29uZHMiOjMwMCwia2VybmVsTmFtZSI6InB5dGhvbjMiLCJtYXhSZXRyaWVzIjo1LCJub3RlYm9vayI6eyJnaXQiOnsiZGVwdGgiOjEsImxmcyI6Ik5vbmUiLCJzdWJtb2R1bGVz' +
      'IjoiTm9uZSJ9fSwicG9kQ29uZmlnIjp7ImF1dG9tb3VudFNlcnZpY2VBY2NvdW50VG9rZW4iOmZhbHNlLCJlbnYiOlt7Im5hbWUiOiJBIiwidmFsdWUiOiJiIn1dLCJyZXNvdXJjZXMi' +
      'OnsibGltaXRzIjp7ImFic2VudCI6WyJtZW1vcnkiXSwia2V5cyI6eyJudmlkaWEuY29tL2dwdSI6IjEifX0sInJlcXVlc3RzIjp7ImFic2VudCI6WyJjcHUiXX19fSwicmVzdWx0cyI6' +
      'eyJtYXhPdXRwdXRCeXRlcyI6MjA0OCwib3V0cHV0UG9saWN5IjoiQWxsIn0sInN0YXJ0dXBUaW1lb3V0U2Vjb25kcyI6NjAsInN1c3BlbmQiOnRydWUsIndvcmtpbmdEaXJlY3Rvcnki' +
      'OiJOb3RlYm9va0RpcmVjdG9yeSJ9LCJzdGF0dXMiOnsiYXR0ZW1wdHMiOjIsImNlbGxSZXN1bHRzIjpbeyJkaWdlc3QiOiI5YjEwNWE3NjA2ODlmMDI1Iiwia2VwdCI6eyJzdGF0dXMi' +
      'OiJTa2lwcGVkIiwidHlwZSI6ImNvZGUifSwia2V5IjowfSx7ImRpZ2VzdCI6ImViZTBmNDlhY2ZjY2FlMTgiLCJrZXB0Ijp7ImNlbGxJRCI6ImIiLCJjb21wYXJpc29uIjp7Im91dGNv' +
      'bWUiOiJNaXNtYXRjaGVkIn0sImR1cmF0aW9uTWlsbGlzZWNvbmRzIjoxMiwib3V0cHV0Qnl0ZXMiOjEsIm91dHB1dFRydW5jYXRlZCI6ZmFsc2UsInN0YXR1cyI6IlN1Y2NlZWRlZCIs' +
      'InR5cGUiOiJjb2RlIn0sImtleSI6MX1dLCJjb25kaXRpb25zIjpbeyJkaWdlc3QiOiIzZjc4NWNmN2QyZDE3NDE2Iiwia2VwdCI6eyJvYnNlcnZlZEdlbmVyYXRpb24iOjN9LCJrZXki' +
      'OiJTdWNjZWVkZWQifV0sIm9ic2VydmVkR2VuZXJhdGlvbiI6MywicmVhc29uIjoiT3V0cHV0TWlzbWF0Y2gifX19',
    hub: hidden,
  },
]
